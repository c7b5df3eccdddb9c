//! Documents: inheritance, faults with file, line and key, hostile input.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use hardware::{Declaration, Gpu, HardwareError, Value};

fn load(folder: &Path, text: &str) -> Result<Gpu, HardwareError> {
    let path = folder.join("mine.toml");
    std::fs::write(&path, text).unwrap();
    Gpu::load(&path.display().to_string())
}

fn refused(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let message = load(folder.path(), text).unwrap_err().to_string();
    message.replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn a_document_overrides_its_base_key_by_key() {
    let folder = tempfile::tempdir().unwrap();
    let gpu = load(
        folder.path(),
        "base = \"rtx-3090\"\n[card]\nsms = { value = 10, source = \"CUDA guide\", confidence = \"guess\", note = \"n\" }\n",
    )
    .unwrap();
    assert_eq!(gpu.value("card.sms").unwrap(), &Value::Integer(10));
    let sms = gpu.explain("card.sms").unwrap();
    assert_eq!(sms.defined_in.line, 3);
    assert_eq!(sms.note.as_deref(), Some("n"));
    // The rest of the table comes from the base, and from the base's bases.
    let clock = gpu.explain("card.core_clock").unwrap();
    assert_eq!(clock.defined_in.file, "gpus/rtx-3090.toml");
    assert_eq!(
        gpu.files()[1..],
        [
            "gpus/rtx-3090.toml",
            "gpus/ga102.toml",
            "gpus/ampere.toml",
            "gpus/dram/gddr6x.toml"
        ]
    );
    // A workstation card overrides what its family says of GeForce.
    let rate = |name: &str| {
        let explained = Gpu::load(name).unwrap().explain("tensor.f16_f32").unwrap();
        (explained.value, explained.defined_in.file)
    };
    assert_eq!(
        rate("rtx-3090"),
        (Value::Integer(64), "gpus/ga102.toml".to_owned())
    );
    assert_eq!(
        rate("rtx-a6000"),
        (Value::Integer(128), "gpus/rtx-a6000.toml".to_owned())
    );
}

#[test]
fn a_base_may_be_a_file_beside_the_document() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("other.toml"), "base = \"rtx-4090\"\n").unwrap();
    let gpu = load(folder.path(), "base = \"other.toml\"\n").unwrap();
    assert_eq!(gpu.architecture(), 89);
    assert_eq!(gpu.name(), "mine");
}

#[test]
fn keys_come_in_order() {
    let gpu = Gpu::load("rtx-a6000").unwrap();
    let keys: Vec<&str> = gpu.keys().map(|(key, _)| key).collect();
    assert!(keys.is_sorted());
    assert!(keys.contains(&"occupancy.ctas_per_sm"));
}

#[test]
fn unknown_gpus_are_told_with_the_nearest() {
    let message = Gpu::load("rtx-a600").unwrap_err().to_string();
    assert!(
        message.starts_with(
            "no GPU is called `rtx-a600`, did you mean rtx-a6000?; known are rtx-a6000, "
        ),
        "{message}"
    );
    let message = Gpu::load("ga102").unwrap_err().to_string();
    assert!(
        message.starts_with("`ga102` is a family of GPUs, not one"),
        "{message}"
    );
    let message = Gpu::load("/nowhere/x.toml").unwrap_err().to_string();
    assert!(message.starts_with("/nowhere/x.toml: "), "{message}");
    assert!(
        refused("base = \"rtx-309\"")
            .starts_with("no GPU is called `rtx-309`, did you mean rtx-3090")
    );
}

#[test]
fn bases_that_do_not_end_are_refused() {
    assert!(refused("base = \"mine.toml\"").contains("its chain of bases does not end"));
}

#[test]
fn faults_name_file_line_and_key() {
    let entry = "{ value = 1, source = \"s\", confidence = \"guess\" }";
    let cases = [
        ("base = 3", "mine.toml:1: `base`: a document holds"),
        ("x = 3", "mine.toml:1: `x`: a document holds"),
        ("[a]\nb = 3", "mine.toml:2: `a.b`: must be { value"),
        (
            "[a]\nb = { source = \"s\", confidence = \"guess\" }",
            "mine.toml:2: `a.b`: lacks its `value`",
        ),
        (
            "[a]\nb = { value = 1, confidence = \"guess\" }",
            "mine.toml:2: `a.b`: lacks its `source`",
        ),
        (
            "[a]\nb = { value = 1, source = \" \", confidence = \"guess\" }",
            "mine.toml:2: `a.b`: `source` must be text",
        ),
        (
            "[a]\nb = { value = 1, source = \"s\" }",
            "mine.toml:2: `a.b`: lacks its `confidence`",
        ),
        (
            "[a]\nb = { value = 1, source = \"s\", confidence = \"sure\" }",
            "`confidence` must be \"measured\"",
        ),
        (
            "[a]\nb = { value = 1, source = \"s\", confidence = \"guess\", unit = \"x\" }",
            "has no field `unit`",
        ),
        (
            "[a]\nb = { value = 1979-05-27, source = \"s\", confidence = \"guess\" }",
            "`value` must be",
        ),
        (
            "[a]\nb = { value = [\"x\"], source = \"s\", confidence = \"guess\" }",
            "`value` must be",
        ),
        ("[a]\nb = ", "mine.toml:2: "),
        ("[a]\nb = 1\nb = 2", "mine.toml:3: "),
    ];
    for (text, expected) in cases {
        let message = refused(text);
        assert!(message.contains(expected), "{text}\n{message}");
    }
    let message = refused(&format!(
        "base = \"rtx-3090\"\n\n[card]\nsms = {}",
        entry.replace('1', "0")
    ));
    assert_eq!(
        message,
        "mine.toml:4: `card.sms` is 0, but must be in 1..=1024"
    );
    let message = refused("base = \"ga102\"");
    assert!(
        message.contains("mine.toml, gpus/ga102.toml, gpus/ampere.toml, gpus/dram/gddr6.toml: `card.title` is missing"),
        "{message}"
    );
}

#[test]
fn undeclared_keys_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut gpu = load(
        folder.path(),
        "base = \"rtx-3090\"\n[card]\nsmss = { value = 1, source = \"s\", confidence = \"guess\" }\n",
    )
    .unwrap();
    let others = declarations_of_the_rest(&gpu, "card.smss");
    let error = gpu.check(&[others]).unwrap_err();
    assert!(matches!(error, HardwareError::UndeclaredKey { ref place, .. } if place.line == 3));
    assert!(
        error
            .to_string()
            .ends_with("mine.toml:3: nothing declares `card.smss`, did you mean card.sms?"),
        "{error}"
    );
}

/// Declarations for the keys that other crates declare, so that only `except` is undeclared.
fn declarations_of_the_rest(gpu: &Gpu, except: &str) -> &'static [Declaration] {
    let own = hardware::DECLARED.iter().copied().flatten();
    let own: Vec<&str> = own.map(|declaration| declaration.key).collect();
    let rest: Vec<Declaration> = gpu
        .keys()
        .filter(|(key, _)| *key != except && !own.contains(key))
        .map(|(key, _)| Declaration {
            key: key.to_owned().leak(),
            unit: "",
            doc: "",
            range: "",
            optional: false,
            check: |_| Ok(()),
        })
        .collect();
    rest.leak()
}

#[test]
fn broken_text_never_panics() {
    let text = include_str!("../../../gpus/ga102.toml");
    let folder = tempfile::tempdir().unwrap();
    let mut state = 1_u64;
    for _ in 0..300 {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..4 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = (state >> 33) as usize % bytes.len();
            match (state >> 20) % 3 {
                0 => bytes[at] = (state >> 8) as u8 & 0x7f,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, b"[]{}=\"\n."[(state >> 24) as usize % 8]),
            }
        }
        let _ = load(folder.path(), &String::from_utf8_lossy(&bytes));
    }
    let deep = format!("a = {}", "[".repeat(100_000));
    assert!(load(folder.path(), &deep).is_err());
    let long = "#".repeat(2 << 20);
    assert!(matches!(
        load(folder.path(), &long),
        Err(HardwareError::TooLarge { .. })
    ));
    std::fs::write(folder.path().join("bytes.toml"), [0xff, 0xfe]).unwrap();
    assert!(Gpu::load(&folder.path().join("bytes.toml").display().to_string()).is_err());
}

#[test]
fn overrides_show_in_the_explanation_and_in_the_gpu() {
    let mut gpu = Gpu::load("rtx-a6000").unwrap();
    gpu.set("card.sms=1").unwrap();
    gpu.set("card.sms=2").unwrap();
    gpu.set("card.title=12").unwrap();
    assert_eq!(gpu.title(), "12");
    let sms = gpu.explain("card.sms").unwrap();
    assert_eq!(sms.value, Value::Integer(2));
    assert_eq!(sms.overridden, Some(Value::Integer(84)));
    assert_eq!(sms.defined_in.to_string(), "--set");
    assert!(gpu.set("card.sms=-1").is_err());
    assert!(gpu.set("card.sms=").is_err());
    assert!(gpu.set("memory.data_rate=nan").is_err());
    assert!(gpu.set("memory.data_rate=1e400").is_err());
    gpu.set("memory.data_rate=1_8.5").unwrap();
}

#[test]
fn what_a_kind_of_dram_says_comes_last_and_changes_with_the_kind() {
    let mut gpu = Gpu::load("rtx-3080").unwrap();
    let defined = |gpu: &Gpu| gpu.explain("dram.cl").unwrap().defined_in.file;
    assert_eq!(defined(&gpu), "gpus/dram/gddr6x.toml");
    assert_eq!(gpu.files().last().unwrap(), "gpus/dram/gddr6x.toml");
    gpu.set("dram.kind=gddr6").unwrap();
    assert_eq!(defined(&gpu), "gpus/dram/gddr6.toml");
    assert_eq!(gpu.files().last().unwrap(), "gpus/dram/gddr6.toml");
    // A document's own word counts for more than the kind's.
    let folder = tempfile::tempdir().unwrap();
    let own = "{ value = 9, source = \"own choice\", confidence = \"guess\" }";
    let mut gpu = load(
        folder.path(),
        &format!("base = \"rtx-3080\"\n[dram]\ncl = {own}\n"),
    )
    .unwrap();
    assert_eq!(gpu.value("dram.cl").unwrap(), &Value::Integer(9));
    gpu.set("dram.kind=gddr6").unwrap();
    assert_eq!(gpu.value("dram.cl").unwrap(), &Value::Integer(9));
}

#[test]
fn unknown_kinds_of_dram_are_refused() {
    let kind = "{ value = \"gddr7\", source = \"own choice\", confidence = \"guess\" }";
    let text = format!("base = \"rtx-3080\"\n[dram]\nkind = {kind}\n");
    assert_eq!(
        refused(&text),
        "mine.toml:3: `dram.kind`: is gddr7, but must be one of gddr6, gddr6x, hbm2, hbm2e, hbm3"
    );
    let mut gpu = Gpu::load("rtx-3080").unwrap();
    let message = gpu.set("dram.kind=core").unwrap_err().to_string();
    assert!(message.starts_with("--set: `dram.kind`: is core, but must be one of"));
    assert!(Gpu::load("dram/gddr6").is_err());
}
