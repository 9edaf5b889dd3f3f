//! The Python package: built, installed into an environment of its own, tested.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::shell::{apt, has, run, target};

/// Packages the Python tests need besides ours.
const PACKAGES: &[&str] = &[
    "maturin==1.16.*",
    "mypy==2.4.*",
    "numpy>=2",
    "pytest>=9",
    "rasterio>=1.4",
    "rio-cogeo>=5",
    "shapely>=2",
    "tqdm>=4.64",
    "pyflwdir>=0.5",
    // Reads models; pillow reads the pictures in them.
    "pillow>=11",
    "trimesh>=5",
    // RichDEM, in wheels of its author; the package of that name must be compiled.
    "py-richdem==2.2.0rc3",
    "surtgis>=1.6",
];

/// A program of the virtual environment, which is made when it is not there.
pub fn tool(name: &str) -> Result<PathBuf> {
    let venv = target().join("venv");
    let installed = venv.join("installed.txt");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&installed).ok().as_deref() != Some(&wanted) {
        if !has("python3", &["-c", "import ensurepip, venv"]) {
            apt(&["python3", "python3-venv", "python3-dev"])?;
        }
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        run(Command::new(venv.join("bin/pip")).args(["install", "--quiet"]).args(PACKAGES))?;
        std::fs::write(&installed, wanted)?;
    }
    Ok(venv.join("bin").join(name))
}

/// The validator of Khronos for models.
const VALIDATOR: &str = "gltf-validator@2.0.0-dev.3.10";

/// A folder of packages for node with the validator in it.
fn node_packages() -> Result<PathBuf> {
    let home = target().join("node");
    let packages = home.join("node_modules");
    if !packages.join("gltf-validator").is_dir() {
        if !has("node", &["--version"]) || !has("npm", &["--version"]) {
            apt(&["nodejs", "npm"])?;
        }
        run(Command::new("npm").args(["install", "--silent", "--prefix"]).arg(&home).arg(VALIDATOR))?;
    }
    Ok(packages)
}

/// Blender as a module, with a Python of its own as it wants another NumPy. Its wheels are for one version of Python.
const BLENDER: &str = "bpy==5.0.1";

/// The Python that has Blender; `None` where it has no wheel.
fn blender() -> Result<Option<PathBuf>> {
    let venv = target().join("blender");
    let python = venv.join("bin/python");
    if !has("python3", &["-c", "import sys; sys.exit(sys.version_info[:2] != (3, 11))"]) {
        println!("models are not opened in Blender: {BLENDER} is for Python 3.11");
        return Ok(None);
    }
    if !venv.join("installed.txt").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        run(Command::new(venv.join("bin/pip")).args(["install", "--quiet", BLENDER]))?;
        std::fs::write(venv.join("installed.txt"), BLENDER)?;
    }
    Ok(Some(python))
}

/// Builds the package, installs it, runs its tests and checks its types.
pub fn test() -> Result<()> {
    let wheels = target().join("wheels");
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels)?;
    }
    // The environment's own interpreter; the dev profile, whose kernels are optimised too.
    let python = tool("python")?;
    run(Command::new(tool("maturin")?)
        .args(["build", "--quiet", "--profile", "dev", "--interpreter"])
        .arg(&python)
        .arg("--out")
        .arg(&wheels))?;
    for wheel in std::fs::read_dir(&wheels)? {
        run(Command::new(tool("pip")?)
            .args(["install", "--quiet", "--force-reinstall", "--no-deps"])
            .arg(wheel?.path()))?;
    }
    let mut pytest = Command::new(tool("pytest")?);
    pytest.args(["-q", "crates/orogen-python/tests"]).env("OROGEN_NODE_PATH", node_packages()?);
    if let Some(blender) = blender()? {
        pytest.env("OROGEN_BLENDER_PYTHON", blender);
    }
    run(&mut pytest)?;
    run(Command::new(&python).args(["-m", "mypy", "--strict", "crates/orogen-python/tests/typed.py"]))?;
    run(Command::new(&python).args(["-m", "mypy", "--strict", "crates/orogen-python/python/orogen"]))?;
    run(Command::new(&python).args(["-m", "mypy.stubtest", "orogen", "--ignore-missing-stub"]))
}
