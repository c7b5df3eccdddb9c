//! The commands and their options: the one list that help, completions and the man page derive from.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Runs NVIDIA machine code cycle by cycle on a simulated GPU and tells where the time went.
#[derive(Debug, Parser)]
#[command(
    name = "warpath",
    version,
    about,
    max_term_width = 100,
    propagate_version = true
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a launch file, or one kernel of a cubin.
    Run(Box<RunArguments>),
    /// Follow one load, store or atomic of a kernel through the GPU: where it went and what it waited for.
    Walk(WalkArguments),
    /// Print the instructions of a cubin.
    Disasm(DisasmArguments),
    /// Assemble SASS text, with its control bits, to a cubin.
    Asm(AsmArguments),
    /// Check control bits without running the code. Exit code 1 if there are findings.
    Lint(LintArguments),
    /// Tell which opcodes a cubin uses and which of them execute and are timed.
    Coverage(CoverageArguments),
    /// List the GPUs that can be simulated.
    Gpus(GpusArguments),
    /// Print what is known about a parameter of a GPU: value, source, confidence.
    Explain(ExplainArguments),
    /// Print the bits that keeping dependences takes: control bits beside scoreboards.
    Area(AreaArguments),
    /// Run experiments in SASS and compare with what machines were seen to do.
    Lab(LabArguments),
    /// Take a GPU apart from outside: caches, translations, slices, banks and throughputs as kernels see them.
    Probe(ProbeArguments),
    /// Measure the simulator's own speed on its standing workloads.
    Bench(BenchArguments),
    /// Print the completion script for a shell.
    Completions(CompletionsArguments),
    /// Print the man page.
    Man,
}

/// What the output is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum Format {
    /// Aligned tables for people.
    #[default]
    Text,
    /// JSON, documented in docs/json.md.
    Json,
    /// Comma-separated values, one line per launch.
    Csv,
}

/// What the output of a listing is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum ListFormat {
    /// Aligned tables for people.
    #[default]
    Text,
    /// JSON, documented in docs/json.md.
    Json,
}

/// How a run executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum Mode {
    /// Cycle by cycle.
    #[default]
    Timing,
    /// Results only, many times faster.
    Functional,
}

/// How pages lie in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Pages {
    /// Neighbouring pages in neighbouring frames.
    Contiguous,
    /// In an order that a seed picks.
    Shuffled,
}

/// What is done about hazards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum Hazards {
    /// Nothing.
    Off,
    /// Report instructions that come before the values they need.
    #[default]
    Check,
    /// Report them, and let them see what the machine would: wrong control bits give wrong values.
    Emulate,
}

/// Something that is done or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Done.
    On,
    /// Not done.
    Off,
}

/// What an instruction does that the simulator does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum UnknownOp {
    /// End the run with an error.
    #[default]
    Error,
    /// Do nothing, and say so in the report.
    Nop,
}

/// Options of `run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// A launch file (.toml) or a cubin.
    pub file: PathBuf,

    /// Kernel of the cubin.
    #[arg(long, value_name = "NAME", help_heading = "Launch (cubin only)")]
    pub kernel: Option<String>,
    /// CTAs in x, y and z.
    #[arg(long, value_name = "X[,Y[,Z]]", help_heading = "Launch (cubin only)")]
    pub grid: Option<String>,
    /// Threads of a CTA in x, y and z.
    #[arg(long, value_name = "X[,Y[,Z]]", help_heading = "Launch (cubin only)")]
    pub block: Option<String>,
    /// Argument of the kernel; once per parameter, in order. TYPE:VALUE for a number (i32:5, f32:1.5,
    /// u64:0x10), bytes:HEX for a structure, [NAME=]TYPE:COUNT:INIT for a new buffer, NAME for an
    /// earlier one. INIT: zero, fill(v), iota(start,step), random(seed,low,high), values(a,b,…),
    /// ring(seed,stride) or @file.bin. TYPE: i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64.
    #[arg(
        long = "arg",
        value_name = "ARG",
        allow_hyphen_values = true,
        help_heading = "Launch (cubin only)",
        verbatim_doc_comment
    )]
    pub arguments: Vec<String>,
    /// Dynamic shared memory per CTA.
    #[arg(long, value_name = "BYTES", help_heading = "Launch (cubin only)")]
    pub shared: Option<u32>,
    /// All CTAs run at the same time and can wait for each other.
    #[arg(long, help_heading = "Launch (cubin only)")]
    pub cooperative: bool,
    /// Stack of a thread where the compiler could not bound it.
    #[arg(long, value_name = "BYTES", help_heading = "Launch (cubin only)",
          value_parser = clap::value_parser!(u32).range(..=524_288))]
    pub stack: Option<u32>,

    /// GPU to simulate: a name of `warpath gpus` or a .toml file.
    #[arg(long, value_name = "NAME", help_heading = "Simulation")]
    pub gpu: Option<String>,
    /// How to execute.
    #[arg(long, value_enum, default_value_t, help_heading = "Simulation")]
    pub mode: Mode,
    /// What to do about hazards.
    #[arg(long, value_enum, default_value_t, help_heading = "Simulation")]
    pub hazards: Hazards,
    /// Whether L2 holds what copies from the host and earlier launches left in it, as the hardware's
    /// does; `off`: it is empty when a launch begins. On, unless the launch file says otherwise.
    #[arg(long, value_enum, value_name = "SWITCH", help_heading = "Simulation")]
    pub warm_l2: Option<Switch>,
    /// Set a parameter of the GPU.
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = "Simulation")]
    pub set: Vec<String>,
    /// What an unknown instruction does.
    #[arg(long, value_enum, default_value_t, help_heading = "Simulation")]
    pub unknown_op: UnknownOp,
    /// Heap of device malloc; 8 MiB unless the launch file says otherwise.
    #[arg(long, value_name = "BYTES", help_heading = "Simulation",
          value_parser = clap::value_parser!(u64).range(..=1_u64 << 40))]
    pub heap: Option<u64>,
    /// How pages lie in device memory; contiguous unless the launch file says otherwise. Results are the
    /// same for each.
    #[arg(long, value_enum, help_heading = "Simulation")]
    pub pages: Option<Pages>,
    /// Picks the order of shuffled pages; 0 unless the launch file says otherwise.
    #[arg(long, value_name = "N", help_heading = "Simulation")]
    pub page_seed: Option<u64>,
    /// Give up after that many simulated cycles of one launch.
    #[arg(long, value_name = "N", default_value_t = device::DEFAULT_MAX_CYCLES, help_heading = "Simulation",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub max_cycles: u64,

    /// Host threads; 0 for as many as there are. Results are the same for any number.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Host")]
    pub threads: usize,
    /// Cycles that SMs run on their own, at most. Results are the same for any number.
    #[arg(long, value_name = "N", help_heading = "Host", value_parser = clap::value_parser!(u64).range(1..))]
    pub window: Option<u64>,
    /// Host instruction set. Results are the same for each. A test aid.
    #[arg(long, value_name = "ISA", value_enum, help_heading = "Host")]
    pub host_isa: Option<HostIsa>,

    /// Write the output as.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub format: Format,
    /// Also print the counters of each SM, L2 slice or DRAM channel, and their roll-ups.
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        value_delimiter = ',',
        help_heading = "Output"
    )]
    pub per: Vec<Per>,
    /// Write what a buffer holds in the end to a file; ARG is its name or the position of the argument.
    #[arg(long, value_name = "ARG=FILE", help_heading = "Output")]
    pub dump: Vec<String>,
}

/// What counters are told apart for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Per {
    /// Each SM.
    Sm,
    /// Each L2 slice.
    Slice,
    /// Each DRAM channel.
    Channel,
}

/// Options of `walk`.
#[derive(Debug, Args)]
pub struct WalkArguments {
    /// A launch file (.toml).
    pub file: PathBuf,
    /// Byte offset of the instruction in the kernel, as `warpath disasm` prints it (0x90): any that goes
    /// to memory. Without it loads of global memory.
    #[arg(long, value_name = "PC", value_parser = parse_pc)]
    pub pc: Option<u64>,
    /// How many executions by the warp go before.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub nth: u64,
    /// Warp, counted over the grid. Without it, of the first executions on every SM, the one that the DRAM
    /// serves first (the first that is issued if none goes there); with --nth warp 0.
    #[arg(long, value_name = "W")]
    pub warp: Option<u64>,
    /// Whether L2 holds what copies from the host and earlier launches left in it. Off, unless the launch
    /// file says otherwise: the way to DRAM and back is to be seen.
    #[arg(long, value_enum, value_name = "SWITCH")]
    pub warm_l2: Option<Switch>,
    /// Position of the launch in the file.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub launch: usize,
    /// GPU to simulate: a name of `warpath gpus` or a .toml file.
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// Set a parameter of the GPU.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Host threads; 0 for as many as there are. Results are the same for any number.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Write the output as.
    #[arg(long, value_enum, default_value_t)]
    pub format: ListFormat,
    /// Also draw it, as SVG.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// A byte offset, in decimal or, with 0x, in hexadecimal.
fn parse_pc(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "a byte offset, such as 0x90 or 144".to_owned())
}

/// A host instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HostIsa {
    /// What every machine of the target has.
    Baseline,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512.
    Avx512,
}

/// Options of `disasm`.
#[derive(Debug, Args)]
pub struct DisasmArguments {
    /// A cubin, a fatbin, a host program with device code, or a file of 128-bit words with --raw.
    pub file: PathBuf,
    /// Only this kernel.
    #[arg(long, value_name = "NAME", conflicts_with = "raw")]
    pub kernel: Option<String>,
    /// Only code for this architecture.
    #[arg(long, value_name = "SM_XX", conflicts_with = "raw")]
    pub arch: Option<String>,
    /// Show which line of the source the instructions come from (code compiled with -lineinfo).
    #[arg(long, conflicts_with_all = ["raw", "against", "asm"])]
    pub lines: bool,
    /// The file holds bare instruction words of this architecture.
    #[arg(long, value_name = "SM_XX")]
    pub raw: Option<String>,
    /// Print text that `warpath asm` takes back: directives, and masks of bits that operands do not show.
    #[arg(long, conflicts_with = "against")]
    pub asm: bool,
    /// Compare with the vendor's disassembler at this path and print how many lines are equal.
    #[arg(long, value_name = "NVDISASM", num_args = 0..=1, default_missing_value = "nvdisasm")]
    pub against: Option<PathBuf>,
}

/// Options of `asm`.
#[derive(Debug, Args)]
pub struct AsmArguments {
    /// SASS text (docs/assembler.md).
    pub file: PathBuf,
    /// Where to write the cubin; by default beside the text.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Architecture of a text without `.arch`.
    #[arg(long, value_name = "SM_XX")]
    pub arch: Option<String>,
    /// Fill in control fields that the text leaves out or open (`?`): stall counts, dependence counters,
    /// waits, reuse.
    #[arg(long)]
    pub auto_control: bool,
    /// GPU whose rules the control fields are filled in by; one of the text's architecture without.
    #[arg(long, value_name = "NAME", requires = "auto_control")]
    pub gpu: Option<String>,
}

/// Options of `lint`.
#[derive(Debug, Args)]
pub struct LintArguments {
    /// Cubins, fatbins, host programs with device code, SASS text (.sass), or folders of cubins.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// GPU whose rules hold; without it all code is checked, each for a GPU of its architecture.
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// Only this kernel.
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Architecture of a text without `.arch`.
    #[arg(long, value_name = "SM_XX")]
    pub arch: Option<String>,
    /// Print the smallest distances that the code keeps, beside the latency tables. Exit code 1 if one is
    /// smaller than its table allows.
    #[arg(long)]
    pub mine: bool,
    /// Write the output as.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Options of `coverage`.
#[derive(Debug, Args)]
pub struct CoverageArguments {
    /// Cubins, fatbins, host programs with device code, or folders of cubins.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Write the output as.
    #[arg(long, value_enum, default_value_t)]
    pub format: ListFormat,
}

/// Options of `gpus`.
#[derive(Debug, Args)]
pub struct GpusArguments {
    /// Write the output as.
    #[arg(long, value_enum, default_value_t)]
    pub format: ListFormat,
}

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// Key of a parameter, or the start of several; all without one.
    pub key: Option<String>,
    /// The GPU.
    #[arg(long, value_name = "NAME", default_value = "rtx-a6000")]
    pub gpu: String,
    /// Set a parameter first.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Write the output as.
    #[arg(long, value_enum, default_value_t)]
    pub format: ListFormat,
}

/// Options of `area`.
#[derive(Debug, Args)]
pub struct AreaArguments {
    /// The GPU.
    #[arg(long, value_name = "NAME", default_value = "rtx-a6000")]
    pub gpu: String,
    /// Set a parameter first.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Write the output as.
    #[arg(long, value_enum, default_value_t)]
    pub format: ListFormat,
}

/// Options of `lab`.
#[derive(Debug, Args)]
pub struct LabArguments {
    /// List, run or draw.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// What `lab` does.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// List the experiments.
    List(LabListArguments),
    /// Run experiments: measured beside expected. Exit code 1 if an exact row differs.
    Run(LabRunArguments),
    /// Draw which warp of a sub-core issued when, in the window of one variant.
    Draw(LabDrawArguments),
}

/// Options of `lab draw`.
#[derive(Debug, Args)]
pub struct LabDrawArguments {
    /// The variant, as `experiment/variant`; an experiment with one variant needs no more than its name.
    pub variant: String,
    /// The sub-core whose warps are drawn.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..4))]
    pub sub_core: u8,
    /// GPU to simulate in place of the one that was measured.
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// A lab file (docs/experiments.md); the built-in ones without.
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Set a parameter of the GPU.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Draw as SVG into this file in place of text.
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
}

/// Options of `lab list`.
#[derive(Debug, Args)]
pub struct LabListArguments {
    /// A lab file (docs/experiments.md); the built-in ones without.
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Write the output as.
    #[arg(long, value_enum, default_value_t)]
    pub format: ListFormat,
}

/// Options of `lab run`.
#[derive(Debug, Args)]
pub struct LabRunArguments {
    /// Only rows with this in `experiment/variant`.
    pub pattern: Option<String>,
    /// GPU to simulate in place of the one that was measured; rows of other GPUs are then not exact.
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// A lab file (docs/experiments.md); the built-in ones without.
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Set a parameter of the GPU.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Write the output as.
    #[arg(long, value_enum, default_value_t)]
    pub format: ListFormat,
}

/// Options of `probe`.
#[derive(Debug, Args)]
pub struct ProbeArguments {
    /// The probe (docs/probes.md), or `list`.
    pub name: String,
    /// GPU to simulate: a name of `warpath gpus` or a .toml file.
    #[arg(long, value_name = "NAME", default_value = "rtx-4090")]
    pub gpu: String,
    /// The SM that measures, where one does.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub sm: u32,
    /// Set a parameter of the GPU.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// How pages lie in device memory.
    #[arg(long, value_enum, default_value = "contiguous")]
    pub pages: Pages,
    /// Picks the order of shuffled pages.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub page_seed: u64,
    /// Host threads; 0 for as many as there are. Results are the same for any number.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Write a drawing of the measurements into this file.
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// Write the output as.
    #[arg(long, value_enum, default_value_t)]
    pub format: ListFormat,
}

/// Options of `bench`.
#[derive(Debug, Args)]
pub struct BenchArguments {
    /// Only these workloads.
    pub workloads: Vec<String>,
    /// Host threads, once for each count to measure; by default one, then all.
    #[arg(long, value_name = "N")]
    pub threads: Vec<usize>,
    /// How to execute.
    #[arg(long, value_enum, default_value_t)]
    pub mode: Mode,
    /// Measure each so often and keep the median.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Write the output as.
    #[arg(long, value_enum, default_value_t)]
    pub format: ListFormat,
    /// Run one workload once in this process and print its figures (what `bench` starts itself with).
    #[arg(long, hide = true)]
    pub once: bool,
}

/// Options of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_commands_are_well_formed() {
        super::Arguments::command().debug_assert();
    }
}
