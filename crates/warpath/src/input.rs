//! Reading what the user names: files with a limit on their size, GPUs with their overrides.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use cubin::{Container, Cubin, CubinError};
use hardware::Gpu;

use crate::failure::{Failure, Problem};

/// No cubin is larger than this; the largest libraries have some hundred megabytes.
const LARGEST_CUBIN: u64 = 1 << 30;
/// No launch file is larger than this.
const LARGEST_LAUNCH_FILE: u64 = 64 << 20;

/// The bytes of a file of at most `limit` bytes.
fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let name = path.display();
    let unreadable =
        |error: std::io::Error| Problem::new(format!("{name}: cannot be read: {error}")).input();
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    let length = file
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if length as u64 > limit {
        return Err(Problem::new(format!(
            "{name}: larger than {limit} bytes, the most that is read"
        ))
        .input());
    }
    Ok(bytes)
}

/// The bytes of a cubin or of bare code.
pub fn read_code(path: &Path) -> Result<Vec<u8>, Failure> {
    read(path, LARGEST_CUBIN)
}

/// The text of a launch file.
pub fn read_launch_file(path: &Path) -> Result<String, Failure> {
    let bytes = read(path, LARGEST_LAUNCH_FILE)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Problem::new(format!(
            "{}: byte {at}: no UTF-8; this must be text",
            path.display()
        ))
        .input()
    })
}

/// A text of that path, to be read by another grammar than TOML's.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    read_launch_file(path)
}

/// All cubins of a file: itself, or those of the fatbins in it.
pub fn load_cubins(path: &Path) -> Result<Vec<Cubin>, Failure> {
    let wrong = |error: CubinError| Problem::new(format!("{}: {error}", path.display())).input();
    let bytes = read_code(path)?;
    let container = Container::parse(&bytes).map_err(wrong)?;
    let unpacked = container.cubins().map_err(wrong)?;
    if unpacked.is_empty() {
        let holds = match &container {
            Container::Fatbins(fatbins) if fatbins.iter().any(|one| !one.images.is_empty()) => {
                "PTX alone; compile with -arch=sm_86, for instance"
            }
            _ => "no image at all",
        };
        let name = path.display();
        return Err(Problem::new(format!("{name}: no cubin: the file holds {holds}")).input());
    }
    let cubins = unpacked.iter().map(|each| Cubin::parse(&each.bytes));
    cubins.map(|cubin| cubin.map_err(wrong)).collect()
}

/// The cubins of a file that a GPU would run, and the GPU: `gpu` if it is given, else the one that
/// `choose` takes for the architectures that there is code for. Images for others are not looked at.
pub fn load_cubins_for(
    path: &Path,
    gpu: Option<&str>,
    choose: impl Fn(&[u32]) -> &'static str,
) -> Result<(Vec<Cubin>, String), Failure> {
    let wrong = |error: CubinError| Problem::new(format!("{}: {error}", path.display())).input();
    let bytes = read_code(path)?;
    let container = Container::parse(&bytes).map_err(wrong)?;
    let gpu = match gpu {
        Some(name) => name,
        None => choose(&container.architectures().map_err(wrong)?),
    };
    let hardware = load_gpu(gpu, &[])?.architecture();
    let unpacked = container.cubins_for(hardware).map_err(wrong)?;
    let cubins = unpacked.iter().map(|each| Cubin::parse(&each.bytes));
    let cubins = cubins.map(|cubin| cubin.map_err(wrong));
    Ok((cubins.collect::<Result<_, _>>()?, gpu.to_owned()))
}

/// A GPU by name or path, checked against all declared parameters, with overrides.
pub fn load_gpu(name: &str, overrides: &[String]) -> Result<Gpu, Failure> {
    let wrong = |error: hardware::HardwareError| Problem::new(error.to_string()).input();
    let mut gpu = Gpu::load(name).map_err(wrong)?;
    gpu.check(&device::declarations()).map_err(wrong)?;
    for assignment in overrides {
        gpu.set(assignment)
            .map_err(|error| Problem::new(format!("--set {assignment}: {error}")).input())?;
    }
    Ok(gpu)
}
