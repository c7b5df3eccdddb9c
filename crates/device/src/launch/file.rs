//! The launch file: which cubin, on which GPU, which kernels with which grids and arguments, over
//! which buffers, and what must come out. Format: kernels/README.md.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reference::Number;

use super::argument::{Argument, read_argument};
use super::buffer::{Buffer, read_buffers};
use super::check::{Check, read_checks};
use super::document::{Document, LaunchFileError, Reading, Table, Value};
use super::texture::{TextureObject, read_objects};
use crate::options::Pages;

/// Largest heap of device `malloc`.
const MOST_HEAP: u64 = 1 << 40;
/// Largest stack of a thread.
const MOST_STACK: u64 = 512 << 10;
/// Stack of a thread unless the launch says otherwise (`cudaLimitStackSize`).
pub const DEFAULT_STACK: u32 = 1024;

/// Launches over a common set of buffers: what one launch file asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// What it is, in a few words.
    pub title: Option<String>,
    /// The cubin, relative to the launch file; `{arch}` stands for the GPU's architecture.
    pub cubin: PathBuf,
    /// Architectures (86 for sm_86) that `{arch}` may stand for; none: those of every GPU.
    pub architectures: Option<Vec<u32>>,
    /// The GPU to run on unless the user names another.
    pub gpu: Option<String>,
    /// Bytes of the heap of device `malloc` (`cudaLimitMallocHeapSize`), unless the user says
    /// otherwise.
    pub heap: Option<u64>,
    /// How pages lie in device memory, unless the user says otherwise.
    pub pages: Option<Pages>,
    /// Picks the order of shuffled pages, unless the user says otherwise.
    pub page_seed: Option<u64>,
    /// Whether L2 holds what copies from the host and earlier launches left in it, unless the user
    /// says otherwise.
    pub warm_l2: Option<bool>,
    /// Kernel launches, in order; each starts when the one before has ended.
    pub launches: Vec<KernelLaunch>,
    /// Device memory that the launches work on.
    pub buffers: Vec<Buffer>,
    /// Textures and surfaces on buffers.
    pub objects: Vec<TextureObject>,
    /// Numbers for the CPU reference.
    pub parameters: BTreeMap<String, Number>,
    /// What must hold in the end.
    pub checks: Vec<Check>,
}

/// One kernel launch.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelLaunch {
    /// Name of the kernel in the cubin.
    pub kernel: String,
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory per CTA in bytes.
    pub shared: u32,
    /// All CTAs run at the same time and can wait for each other (`cudaLaunchCooperativeKernel`).
    pub cooperative: bool,
    /// Stack of a thread in bytes where the compiler could not bound it (`cudaLimitStackSize`).
    pub stack: u32,
    /// The arguments, in the order of the parameters.
    pub arguments: Vec<Argument>,
}

impl Workload {
    /// Reads the text of a launch file; `file` names it in errors.
    ///
    /// # Errors
    /// The first thing that is not as it should be.
    pub fn parse(file: &str, text: &str) -> Result<Workload, Box<LaunchFileError>> {
        let document = Document::new(file, text);
        let parsed = document.parse()?;
        let top = Table::top(&document, &parsed);
        read_workload(&top)
    }
}

fn read_workload(top: &Table<'_>) -> Reading<Workload> {
    top.only(&[
        "cubin",
        "architectures",
        "gpu",
        "title",
        "heap",
        "pages",
        "page_seed",
        "warm_l2",
        "launch",
        "buffers",
        "textures",
        "surfaces",
        "parameters",
        "check",
    ])?;
    let text = |key: &str, what: &str| -> Reading<Option<String>> {
        top.get(key)
            .map(|value| value.string(what).map(str::to_owned))
            .transpose()
    };
    let title = text("title", "a string")?;
    let gpu = text("gpu", "the name of a GPU")?;
    let expected = "the name of a cubin, as in \"vadd.{arch}.cubin\"";
    let cubin = PathBuf::from(top.require("cubin", expected)?.string(expected)?);

    let architectures = top
        .get("architectures")
        .map(|value| read_architectures(&value))
        .transpose()?;

    let heap = match top.get("heap") {
        Some(value) => Some(value.integer(0..=MOST_HEAP, "a number of bytes, at most 2^40")?),
        None => None,
    };
    let pages = top
        .get("pages")
        .map(|value| {
            let expected = "\"contiguous\" or \"shuffled\"";
            let name = value.string(expected)?;
            let found = Pages::ALL.into_iter().find(|pages| pages.name() == name);
            found.ok_or_else(|| value.error(format!("\"{name}\""), expected))
        })
        .transpose()?;
    let page_seed = top
        .get("page_seed")
        .map(|value| value.integer(0..=i64::MAX as u64, "an integer from 0 on"))
        .transpose()?;
    let warm_l2 = match top.get("warm_l2") {
        Some(value) => Some(value.boolean("true or false")?),
        None => None,
    };
    let buffers = read_buffers(top)?;
    let objects = read_objects(top, &buffers)?;
    let expected = "a list of tables, as in `[[launch]]`";
    let launch = top.require("launch", expected)?;
    let launches = launch
        .array(expected)?
        .iter()
        .map(|entry| read_launch(entry, &buffers, &objects))
        .collect::<Reading<Vec<_>>>()?;
    if launches.is_empty() {
        return Err(launch.error("an empty list", "at least one launch"));
    }

    let mut parameters = BTreeMap::new();
    if let Some(value) = top.get("parameters") {
        for (name, value) in value.table("a table of numbers")?.entries() {
            parameters.insert(name.to_owned(), value.number("a number")?);
        }
    }
    let checks = read_checks(top, &buffers)?;
    Ok(Workload {
        title,
        cubin,
        architectures,
        gpu,
        heap,
        pages,
        page_seed,
        warm_l2,
        launches,
        buffers,
        objects,
        parameters,
        checks,
    })
}

/// Reads a list of architecture names, each once.
fn read_architectures(value: &Value<'_>) -> Reading<Vec<u32>> {
    let expected = "a list of architectures, each once, as in `[\"sm_80\", \"sm_86\"]`";
    let list = value.array(expected)?;
    if list.is_empty() {
        return Err(value.error("an empty list", expected));
    }
    let mut architectures = Vec::with_capacity(list.len());
    for entry in &list {
        let name = entry.string(expected)?;
        let number = name
            .strip_prefix("sm_")
            .and_then(|number| number.parse::<u32>().ok())
            .filter(|number| !architectures.contains(number))
            .ok_or_else(|| entry.error(format!("`{name}`"), expected))?;
        architectures.push(number);
    }
    Ok(architectures)
}

fn read_launch(
    entry: &Value<'_>,
    buffers: &[Buffer],
    objects: &[TextureObject],
) -> Reading<KernelLaunch> {
    let table = entry.table("a table with `kernel`, `grid`, `block` and `args`")?;
    table.only(&[
        "kernel",
        "grid",
        "block",
        "shared",
        "cooperative",
        "stack",
        "args",
    ])?;
    let kernel = table
        .require("kernel", "the name of a kernel")?
        .string("the name of a kernel")?;
    let grid = read_extent(&table.require("grid", "CTAs, as in `[16, 16]`")?)?;
    let block = read_extent(&table.require("block", "threads, as in `[32, 8]`")?)?;
    let shared = match table.get("shared") {
        Some(value) => value.integer(0..=u64::from(u32::MAX), "a number of bytes")? as u32,
        None => 0,
    };
    let cooperative = match table.get("cooperative") {
        Some(value) => value.boolean("true or false")?,
        None => false,
    };
    let stack = match table.get("stack") {
        Some(value) => value.integer(0..=MOST_STACK, "a number of bytes, at most 524288")? as u32,
        None => DEFAULT_STACK,
    };
    let arguments = match table.get("args") {
        Some(list) => list
            .array("a list of arguments")?
            .iter()
            .map(|value| read_argument(value, buffers, objects))
            .collect::<Reading<_>>()?,
        None => Vec::new(),
    };
    Ok(KernelLaunch {
        kernel: kernel.to_owned(),
        grid,
        block,
        shared,
        cooperative,
        stack,
        arguments,
    })
}

/// Reads x, y and z: a number or a list of one to three, at least 1 each. (What the GPU allows is
/// checked when the launch is made.)
fn read_extent(value: &Value<'_>) -> Reading<[u32; 3]> {
    let expected = "one to three numbers, each from 1 to 2147483647";
    let list = if value.is_array() {
        value.array(expected)?
    } else {
        vec![value.clone()]
    };
    if !(1..=3).contains(&list.len()) {
        return Err(value.error(format!("{} numbers", list.len()), expected));
    }
    let mut extent = [1; 3];
    for (place, entry) in extent.iter_mut().zip(&list) {
        *place = entry.integer(1..=i32::MAX as u64, expected)? as u32;
    }
    Ok(extent)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
cubin = "vadd.{arch}.cubin"
gpu = "rtx-a6000"
[[launch]]
kernel = "vadd"
grid = [2]
block = 64
args = ["a", { i32 = 5 }]
[buffers.z]
type = "f32"
count = 4
[buffers.a]
type = "u32"
count = 128
init = { random = 1, low = 0, high = 4294967295 }
[parameters]
n = 128
[[check]]
buffer = "a"
values = { fill = 1 }
"#;

    #[test]
    fn buffers_keep_the_order_of_the_file() {
        let workload = Workload::parse("x.toml", GOOD).unwrap();
        assert_eq!(workload.buffers[0].name, "z");
        assert_eq!(workload.launches[0].block, [64, 1, 1]);
        assert_eq!(
            workload.launches[0].arguments[0],
            Argument::Buffer {
                buffer: 1,
                offset: 0
            }
        );
    }

    #[test]
    fn architectures_are_named() {
        let with = |list: &str| GOOD.replace("gpu =", &format!("architectures = {list}\ngpu ="));
        let read = |list: &str| Workload::parse("x.toml", &with(list));
        assert_eq!(
            read(r#"["sm_80", "sm_89"]"#).unwrap().architectures,
            Some(vec![80, 89])
        );
        assert_eq!(Workload::parse("x.toml", GOOD).unwrap().architectures, None);
        for bad in [
            "[]",
            "80",
            "[80]",
            r#"["80"]"#,
            r#"["sm_x"]"#,
            r#"["sm_80", "sm_80"]"#,
        ] {
            let wrong = read(bad).unwrap_err();
            assert!(wrong.key.starts_with("architectures"), "{bad}: {wrong}");
            assert!(wrong.expected.contains("sm_80"), "{bad}: {wrong}");
        }
    }

    /// Replaces a piece of the good file and returns the error.
    fn error(from: &str, to: &str) -> LaunchFileError {
        assert!(GOOD.contains(from));
        *Workload::parse("x.toml", &GOOD.replacen(from, to, 1)).unwrap_err()
    }

    #[test]
    fn errors_name_line_key_and_what_would_be_right() {
        let wrong = error("grid = [2]", "grid = [0]");
        assert_eq!((wrong.line, wrong.key.as_str()), (6, "launch[0].grid[0]"));
        assert_eq!(
            wrong.to_string(),
            "x.toml:6:9: key `launch[0].grid[0]`: 0; expected one to three numbers, each from 1 to 2147483647"
        );
        let wrong = error("grid", "gird");
        assert!(wrong.expected.contains("`grid`"), "{wrong}");
        let wrong = error("\"a\", {", "\"b\", {");
        assert!(wrong.to_string().contains("`z` or `a`"), "{wrong}");
        let wrong = error("i32 = 5", "i8 = 500");
        assert!(wrong.to_string().contains("i8"), "{wrong}");
        let wrong = error("count = 128", "count = -1");
        assert_eq!(wrong.key, "buffers.a.count");
        let wrong = error("type = \"u32\"", "type = \"u33\"");
        assert_eq!((wrong.line, wrong.key.as_str()), (13, "buffers.a.type"));
        let wrong = error("kernel = \"vadd\"\n", "");
        assert_eq!(wrong.key, "launch[0].kernel");
        let wrong = error("[[launch]]", "[[launch");
        assert_eq!(wrong.line, 4);
    }

    #[test]
    fn every_launch_file_of_the_project_is_read_and_has_its_cubins() {
        let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels");
        let mut count = 0;
        for folder in std::fs::read_dir(kernels).unwrap() {
            let folder = folder.unwrap().path();
            if !folder.is_dir() {
                continue;
            }
            for file in std::fs::read_dir(folder).unwrap() {
                let path = file.unwrap().path();
                if path
                    .extension()
                    .is_some_and(|extension| extension == "toml")
                {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let workload = Workload::parse(&path.to_string_lossy(), &text).unwrap();
                    let cubin = workload.cubin.to_string_lossy();
                    for sm in workload.architectures.unwrap_or(vec![75, 80, 86, 89, 90]) {
                        let name = cubin.replace("{arch}", &format!("sm_{sm}"));
                        let cubin = path.with_file_name(name);
                        assert!(cubin.is_file(), "{}", cubin.display());
                    }
                    count += 1;
                }
            }
        }
        assert!(count >= 70, "{count} launch files");
    }
}
