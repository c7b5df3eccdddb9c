//! The documents of `gpus/`, embedded in the program: the one list of them.

/// Whether a document describes a GPU or only what several share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Gpu,
    Family,
    /// A kind of DRAM, for the GPUs whose `dram.kind` names it.
    Dram,
}

/// A document embedded in the program.
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) text: &'static str,
}

macro_rules! built_in {
    ($($kind:ident $name:literal;)*) => {
        const BUILT_IN: &[BuiltIn] = &[$(BuiltIn {
            name: $name,
            kind: Kind::$kind,
            text: include_str!(concat!("../../../gpus/", $name, ".toml")),
        },)*];
    };
}

built_in! {
    Family "ampere";
    Family "ga102";
    Gpu "rtx-a6000";
    Gpu "rtx-3080";
    Gpu "rtx-3080-ti";
    Gpu "rtx-3090";
    Gpu "rtx-3060";
    Gpu "a100-sxm4-40gb";
    Family "ad102";
    Gpu "rtx-4090";
    Gpu "l40s";
    Family "turing";
    Gpu "rtx-2080-ti";
    Gpu "rtx-2070-super";
    Gpu "rtx-2070";
    Gpu "h100-pcie";
    Dram "dram/gddr6";
    Dram "dram/gddr6x";
    Dram "dram/hbm2";
    Dram "dram/hbm2e";
    Dram "dram/hbm3";
}

/// The embedded document of that name.
pub(crate) fn find(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|document| document.name == name)
}

/// The folder of the documents of DRAM kinds.
pub(crate) const DRAM_FOLDER: &str = "dram/";

/// The names of the GPUs that are built in.
pub fn names() -> Vec<&'static str> {
    of(Kind::Gpu).map(|document| document.name).collect()
}

/// The kinds of DRAM that `dram.kind` may name.
pub fn dram_kinds() -> Vec<&'static str> {
    of(Kind::Dram)
        .filter_map(|document| document.name.strip_prefix(DRAM_FOLDER))
        .collect()
}

fn of(kind: Kind) -> impl Iterator<Item = &'static BuiltIn> {
    BUILT_IN
        .iter()
        .filter(move |document| document.kind == kind)
}
