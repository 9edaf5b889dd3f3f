//! Plants in a picture: those of the land, near ones as meshes, farther ones as impostors, up to where the cover of the ground
//! takes over.
//!
//! [`Plants`] lasts over pictures: it keeps what stands in cells around the eye and what each species looks like. A plant looks
//! the same however often it is made: its shape comes from its id.

mod cells;
mod choose;
mod draw;
mod grass;
mod model;
mod season;

use orogen_core::Cancel;

use crate::camera::Camera;
use crate::cascades::{CASCADES, Cascade};
use crate::error::RenderError;
use crate::gpu::Gpu;
use crate::land::Land;
use crate::overview::Overview;
use crate::sun::Moment;
use crate::vec3::Vec3;

use cells::Cells;
use choose::{Chosen, choose};
use draw::Drawing;
use model::Models;

/// The ground that plants stand on, as it is drawn.
pub(crate) trait Footing: Sync {
    /// The land at a glance.
    fn overview(&self) -> &Overview;
    /// How high it is at a place.
    fn height_at(&self, at: [f64; 2]) -> f64;
    /// What it is like, where that is known finely.
    fn spot(&self, at: [f64; 2]) -> Option<Spot>;
}

/// What the ground is like at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    /// Whether it lies under water, or is too near to it.
    pub wet: bool,
    /// How steep it is, as a tangent.
    pub steep: f32,
    /// The share of it under crowns.
    pub cover: f32,
    /// Materials by their number, and their weights.
    pub materials: [(u8, f32); 8],
}

/// How plants are seen.
pub(crate) struct Sight<'a> {
    pub camera: &'a Camera,
    /// Width over height of the picture.
    pub aspect: f64,
    /// Pixels, width and height.
    pub size: [u32; 2],
    pub moment: &'a Moment,
    pub latitude_deg: f64,
    /// The direction to the lamp, and the squares near the eye as it sees them.
    pub lamp: Vec3,
    pub near: Option<[Cascade; CASCADES]>,
    /// Whether the picture waits for all plants; else each frame makes a few.
    pub whole: bool,
}

impl Sight<'_> {
    /// Pixels that a metre takes at a distance of one metre.
    fn focal_px(&self) -> f64 {
        f64::from(self.size[0]) / (2.0 * self.camera.half(self.aspect)[0])
    }
}

/// Plants that are counted after a picture was made ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Plants that are drawn, by level: the four meshes, then impostors. One that fades from one to the next counts twice.
    pub levels: [usize; 5],
    /// Triangles that they have.
    pub triangles: u64,
    /// Bytes on the device, about.
    pub bytes: u64,
}

/// The plants around an eye, and what they look like.
pub(crate) struct Plants {
    cells: Cells,
    models: Models,
    drawing: Drawing,
    counts: Counts,
    /// Whether the picture has plants.
    shown: bool,
}

impl Plants {
    pub fn new(gpu: &Gpu, scene: &wgpu::BindGroupLayout) -> Self {
        let drawing = Drawing::new(gpu, scene);
        Self {
            cells: Cells::default(),
            models: Models::default(),
            drawing,
            counts: Counts::default(),
            shown: false,
        }
    }

    /// Forgets what stands where: the land has changed.
    pub fn changed(&mut self) {
        self.cells = Cells::default();
        self.models.forget_all();
        self.clear();
    }

    /// Draws nothing next.
    pub fn clear(&mut self) {
        self.drawing.clear();
        self.counts = Counts::default();
        self.shown = false;
    }

    /// Makes ready what a picture shows, all of it or what a frame has time for; says whether that is all.
    ///
    /// # Errors
    /// When the land cannot say what stands on it, or when cancelled.
    pub fn prepare(
        &mut self,
        gpu: &Gpu,
        land: &dyn Land,
        sight: &Sight<'_>,
        ground: &dyn Footing,
        cancel: &Cancel,
    ) -> Result<bool, RenderError> {
        self.models.turn(season::season(sight.moment, sight.latitude_deg));
        let filled = self.cells.fill(land, ground.overview(), sight, cancel)?;
        self.cells.grow(sight, ground);
        let chosen: Chosen = choose(&self.cells, sight, ground);
        let wanted = chosen.models();
        let made = self.models.make(gpu, &self.drawing, &self.cells.species, &wanted, sight.whole, cancel)?;
        self.counts = self.drawing.upload(gpu, &chosen, &self.models, sight.focal_px());
        self.shown = true;
        Ok(filled && made)
    }

    /// Up to where plants are drawn; 0 where there are none.
    pub fn far_m(&self) -> f32 {
        if self.shown && self.cells.any() { cells::FAR_M as f32 } else { 0.0 }
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Says the time in seconds and how strong the wind is: 0 in stills.
    pub fn begin(&self, gpu: &Gpu, time_s: f32, wind: f32) {
        self.drawing.begin(gpu, time_s, wind);
    }

    /// Draws all of them; the scene is bound.
    pub fn draw(&self, pass: &mut wgpu::RenderPass<'_>) {
        self.drawing.draw(pass, &self.models);
    }

    /// Draws what throws shadows into a square near the eye; the scene as the lamp sees it is bound.
    pub fn cast(&self, pass: &mut wgpu::RenderPass<'_>, square: usize) {
        self.drawing.cast(pass, &self.models, square);
    }
}

#[cfg(test)]
mod tests {
    use orogen_core::instances::{Instance, Instances};
    use orogen_core::{Frame, LayerName, Raster, Terrain, layer};

    use std::sync::Arc;

    use orogen_core::math;

    use super::*;
    use crate::{Aim, Height, Materials, Options, Rendered, Stage, render, take};

    /// Level rock with trees around its middle, twelve metres apart.
    fn land(species: &str, side: u32) -> Terrain {
        let frame = Frame::square(4000.0, 33).unwrap();
        let mut land = Terrain::new(frame);
        land.set(layer::HEIGHT, Raster::filled(33, 33, 50.0));
        land.accept(
            LayerName::fixed("material.granite"),
            Raster::filled(33, 33, orogen_core::Weight(255)).into(),
        )
        .unwrap();
        let place = |i: u32| 2000.0 + 12.0 * (f64::from(i) - 0.5 * f64::from(side.saturating_sub(1)));
        let trees = (0..side * side).map(|i| {
            let thing = Instance {
                id: u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15),
                z_m: 50.0,
                scale: 4096,
                yaw: i.wrapping_mul(7919) as u16,
                health: 255,
                ..Instance::default()
            };
            ([place(i % side), place(i / side)], thing)
        });
        land.set_instances(
            LayerName::fixed("plants"),
            Instances::new(vec![species.to_owned()], trees).unwrap(),
        );
        land
    }

    fn shared(land: Terrain) -> Arc<dyn Land> {
        Arc::new(land)
    }

    fn gpu() -> Gpu {
        Gpu::open(None).expect("a graphics adapter; cargo xtask test installs one")
    }

    /// From the south of the middle, towards it.
    fn picture(gpu: &Gpu, land: &Arc<dyn Land>, away: f64, plants: bool) -> Rendered {
        let options = Options {
            size: [160, 90],
            samples: 1,
            quality: 1.0,
            any_hour: false,
            aim: Aim::Place {
                eye: [2000.0, 2000.0 - away],
                height: Height::Ground(20.0),
                target: Some([2000.0, 2000.0]),
            },
            plants,
            ..Options::default()
        };
        let materials = Arc::new(Materials::of_layers(&[]));
        render(gpu, land, &materials, &options, &Cancel::new(), &|_| {}).unwrap()
    }

    /// Pixels that plants change.
    fn covered(with: &Rendered, without: &Rendered) -> usize {
        let pixels = with.picture.as_slice().iter().zip(without.picture.as_slice());
        pixels.filter(|(a, b)| (0..3).any(|k| a[k].abs_diff(b[k]) > 12)).count()
    }

    #[test]
    fn a_hundred_trees_are_meshes_from_near_and_impostors_from_far() {
        let (gpu, land) = (gpu(), shared(land("birch", 10)));
        let near = picture(&gpu, &land, 70.0, true);
        let levels = near.plants.levels;
        assert!(levels[3] > 0 && levels[4] > 0 && levels.iter().sum::<usize>() < 200, "{levels:?}");
        assert!(near.plants.bytes < 200 << 20 && near.plants.triangles < 1_000_000, "{:?}", near.plants);
        let bare = picture(&gpu, &land, 70.0, false);
        assert_eq!(bare.plants, Counts::default());
        let many = covered(&near, &bare);
        assert!(many > 160 * 90 / 10, "{many} pixels");
        let far = picture(&gpu, &land, 900.0, true);
        assert_eq!(far.plants.levels[..4], [0; 4]);
        assert_eq!(far.plants.levels[4], 100);
        let few = covered(&far, &picture(&gpu, &land, 900.0, false));
        assert!((4..many / 8).contains(&few), "{few} pixels");
        // A still is the same twice.
        assert_eq!(picture(&gpu, &land, 70.0, true).picture, near.picture);
    }

    /// What a lone tree fills of a picture above the horizon, as an area at a distance of one metre, and its mean colour.
    fn lone(stage: &mut Stage, away: f64, turn: f64, hour: f64) -> (f64, [f64; 3], Counts) {
        let eye = [2000.0 + away * math::cos(turn), 2000.0 + away * math::sin(turn), 51.6];
        let camera = Camera { eye, target: [2000.0, 2000.0, 60.0], view_deg: 50.0, wide_m: None };
        let options = Options {
            size: [320, 320],
            samples: 8,
            quality: 1.0,
            any_hour: false,
            moment: Moment { hour, ..Options::default().moment },
            aim: Aim::Exact(camera),
            clear_sky: true,
            ..Options::default()
        };
        let found = take(stage, &options, &Cancel::new(), &|_| {}).unwrap();
        let clip = found.camera.clip(1.0, [0.0; 2]);
        let flat = [2000.0 - eye[0], 2000.0 - eye[1]].map(|v| v as f32);
        let row = |k: usize| clip[0][k] * flat[0] + clip[1][k] * flat[1] + clip[3][k];
        let horizon = (160.0 * (1.0 - row(1) / row(3))) as usize;
        let cover = found.cover.unwrap();
        let (mut area, mut sum) = (0.0, [0.0; 3]);
        for y in 0..horizon - 1 {
            for (share, color) in cover.row(y).iter().zip(found.picture.row(y)) {
                let share = f64::from(*share) / 255.0;
                area += share;
                (0..3).for_each(|k| sum[k] += share * f64::from(color[k]) / 255.0);
            }
        }
        (area * away * away, sum.map(|c| c / area), found.plants)
    }

    #[test]
    fn impostors_look_like_the_meshes_that_they_take_over_from() {
        let gpu = gpu();
        let (mut all, mut worst) = (String::new(), [0f64; 2]);
        for species in ["oak", "spruce"] {
            let materials = Arc::new(Materials::of_layers(&[]));
            let mut stage = Stage::new(&gpu, shared(land(species, 1)), materials, &Cancel::new()).unwrap();
            let focal = 160.0 / math::tan(25f64.to_radians());
            let begin = model::size_of_species(species, 0)[0] * focal / choose::PIXELS[3];
            for (turn, hour) in [(0.4, 9.0), (4.6, 17.0)] {
                let (near_area, near, mesh) = lone(&mut stage, 0.97 * begin, turn, hour);
                let (far_area, far, impostor) = lone(&mut stage, 1.28 * begin, turn, hour);
                assert_eq!((mesh.levels, impostor.levels), ([0, 0, 0, 1, 0], [0, 0, 0, 0, 1]));
                let area = far_area / near_area - 1.0;
                let color = [0, 1, 2].map(|k| far[k] - near[k]);
                all += &format!(
                    "{species} from {turn} at {hour}: area {area:+.3}, colour {near:.3?} {color:+.3?}\n"
                );
                worst = [worst[0].max(area.abs()), color.iter().fold(worst[1], |w, c| w.max(c.abs()))];
            }
        }
        // Oaks keep to 7 % of the area and 2 % of the colour; spruces, whose needles the coarsest mesh thins out, do not yet.
        assert!(worst[0] < 0.29 && worst[1] < 0.03, "{all}");
    }

    #[test]
    fn land_without_plants_and_species_that_nobody_knows_are_fine() {
        let gpu = gpu();
        let mut bare = land("birch", 0);
        assert_eq!(picture(&gpu, &shared(bare.clone()), 100.0, true).plants.levels, [0; 5]);
        bare.set_instances(LayerName::fixed("plants"), Instances::default());
        assert_eq!(picture(&gpu, &shared(bare), 100.0, true).plants.levels, [0; 5]);
        let unknown = picture(&gpu, &shared(land("no such tree", 2)), 300.0, true);
        assert_eq!(unknown.plants.levels.iter().sum::<usize>(), 4);
    }

    /// Level ground without anything on it.
    struct Level(Overview);

    impl Footing for Level {
        fn overview(&self) -> &Overview {
            &self.0
        }

        fn height_at(&self, _: [f64; 2]) -> f64 {
            50.0
        }

        fn spot(&self, _: [f64; 2]) -> Option<Spot> {
            None
        }
    }

    #[test]
    fn flying_in_levels_give_way_to_each_other_evenly_and_leave_no_pixel_out() {
        let land = land("oak", 1);
        let level = Level(Overview::of(&land, &Cancel::new()).unwrap());
        let moment = Options::default().moment;
        let mut cells = Cells::default();
        let mut before: Option<[f64; 6]> = None;
        // From three kilometres to ten metres, each step a fiftieth nearer.
        let mut away = 3000.0;
        while away > 10.0 {
            let camera = Camera {
                eye: [2000.0, 2000.0 - away, 60.0],
                target: [2000.0, 2000.0, 60.0],
                view_deg: 55.0,
                wide_m: None,
            };
            let sight = Sight {
                camera: &camera,
                aspect: 16.0 / 9.0,
                size: [1280, 720],
                moment: &moment,
                latitude_deg: 45.0,
                lamp: [0.0, 0.0, 1.0],
                near: None,
                whole: true,
            };
            cells.fill(&land, &level.0, &sight, &Cancel::new()).unwrap();
            // Shares of the levels, and of nothing.
            let mut shares = [0.0; 6];
            let mut parts: Vec<[u8; 2]> = Vec::new();
            for ((_, level), plants) in choose(&cells, &sight, &level).seen {
                for plant in plants {
                    let [from, to, ..] = plant.shares;
                    shares[level] += f64::from(to - from) / 255.0;
                    parts.push([from, to]);
                }
            }
            // Each threshold belongs to one level at most, and there is no gap between them.
            parts.sort_unstable();
            assert!(parts.windows(2).all(|two| two[0][1] == two[1][0]), "{away}: {parts:?}");
            assert!(parts.first().is_none_or(|first| first[0] == 0), "{away}: {parts:?}");
            shares[5] = 1.0 - shares[..5].iter().sum::<f64>();
            assert!(away > 2300.0 || shares[5].abs() < 1e-6, "{away}: {shares:?}");
            if let Some(before) = before {
                let change = (0..6).map(|k| (shares[k] - before[k]).abs()).fold(0.0, f64::max);
                assert!(change < 0.2, "{away}: {before:?} to {shares:?}");
            }
            before = Some(shares);
            away *= 0.98;
        }
        assert!(before.is_some_and(|last| last[0] > 0.99), "{before:?}");
    }

    #[test]
    fn a_million_plants_in_view_take_little_memory() {
        assert_eq!(size_of::<choose::Instance>(), 32);
        assert!(size_of::<cells::Standing>() <= 64);
    }
}
