//! A graphics device without a window.

use crate::error::GpuError;

/// A device that makes land. It asks for no more than a browser with WebGL2 has.
#[derive(Clone, Debug)]
pub struct Device {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    name: String,
    is_software: bool,
}

impl Device {
    /// Opens the adapter that the system prefers, or the first whose name contains `wanted`.
    ///
    /// # Errors
    /// When there is none, or it cannot do what is needed.
    pub fn open(wanted: Option<&str>) -> Result<Self, GpuError> {
        pollster::block_on(Self::open_async(wanted))
    }

    async fn open_async(wanted: Option<&str>) -> Result<Self, GpuError> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapter = match wanted {
            None => {
                let options = wgpu::RequestAdapterOptions {
                    power_preference: wgpu::PowerPreference::HighPerformance,
                    ..Default::default()
                };
                instance.request_adapter(&options).await.map_err(|_| GpuError::NoAdapter)?
            }
            Some(wanted) => {
                let mut all = instance.enumerate_adapters(wgpu::Backends::all()).await;
                if all.is_empty() {
                    return Err(GpuError::NoAdapter);
                }
                let names: Vec<String> = all.iter().map(|adapter| adapter.get_info().name).collect();
                let fits = |name: &String| name.to_lowercase().contains(&wanted.to_lowercase());
                let at = names.iter().position(fits).ok_or_else(|| GpuError::NoSuchAdapter {
                    wanted: wanted.to_owned(),
                    found: names.join(", "),
                })?;
                all.swap_remove(at)
            }
        };
        let info = adapter.get_info();
        let required_limits = wgpu::Limits::downlevel_webgl2_defaults();
        let refused = |reason: String| GpuError::Adapter { adapter: info.name.clone(), reason };
        if !required_limits.check_limits(&adapter.limits()) {
            return Err(refused(String::from("it can do less than WebGL2 asks for")));
        }
        let descriptor =
            wgpu::DeviceDescriptor { label: Some("orogen"), required_limits, ..Default::default() };
        let opened = adapter.request_device(&descriptor).await;
        let (device, queue) = opened.map_err(|e| refused(e.to_string()))?;
        Ok(Self::of(device, queue))
    }

    /// A device that was opened by somebody else, such as a window.
    #[must_use]
    pub fn of(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let info = device.adapter_info();
        let is_software = info.device_type == wgpu::DeviceType::Cpu;
        Self { device, queue, name: info.name, is_software }
    }

    /// What the adapter is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a driver does the work on the processor, which is then faster at it without.
    #[must_use]
    pub fn is_software(&self) -> bool {
        self.is_software
    }

    /// The longest side of a texture that is used.
    pub(crate) fn most(&self) -> u32 {
        self.device.limits().max_texture_dimension_2d.min(2048)
    }

    /// Waits until all work is done.
    pub(crate) fn wait(&self) -> Result<(), GpuError> {
        let polled = self.device.poll(wgpu::PollType::wait_indefinitely());
        polled.map(|_| ()).map_err(|e| GpuError::Device(e.to_string()))
    }
}
