//! Every launch file of `kernels/` fits its references: names, types, sizes and parameters.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use reference::{ElementType, Initializer, Inputs, Number, initialize};
use toml::{Table, Value};

fn launch_files() -> Vec<PathBuf> {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let mut files = Vec::new();
    for folder in std::fs::read_dir(kernels).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(folder).unwrap() {
            let file = file.unwrap().path();
            if file
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                files.push(file);
            }
        }
    }
    files.sort();
    files
}

fn number(value: &Value) -> Number {
    match value {
        Value::Integer(value) => Number::Integer(i128::from(*value)),
        Value::Float(value) => Number::Real(*value),
        other => panic!("{other} is no number"),
    }
}

fn initializer(init: &Table) -> Initializer {
    let numbers = |key: &str| {
        init[key]
            .as_array()
            .unwrap()
            .iter()
            .map(number)
            .collect::<Vec<_>>()
    };
    let unsigned = |key: &str| u64::try_from(init[key].as_integer().unwrap()).unwrap();
    if init.contains_key("random") {
        Initializer::Random {
            seed: unsigned("random"),
            low: number(&init["low"]),
            high: number(&init["high"]),
        }
    } else if init.contains_key("fill") {
        Initializer::Fill(number(&init["fill"]))
    } else if init.contains_key("iota") {
        let [start, step] = numbers("iota")[..] else {
            panic!("iota takes two numbers")
        };
        Initializer::Iota { start, step }
    } else if init.contains_key("values") {
        Initializer::Values(numbers("values"))
    } else {
        Initializer::PermutationRing {
            seed: unsigned("permutation_ring"),
            stride: unsigned("stride"),
        }
    }
}

fn contents(folder: &Path, buffer: &Table) -> (ElementType, Vec<u8>) {
    let element: ElementType = buffer["type"].as_str().unwrap().parse().unwrap();
    let count = usize::try_from(buffer["count"].as_integer().unwrap()).unwrap();
    let init = buffer["init"].as_table().unwrap();
    let bytes = match init.get("file") {
        Some(file) => std::fs::read(folder.join(file.as_str().unwrap())).unwrap(),
        None => initialize(&initializer(init), element, count).unwrap(),
    };
    assert_eq!(bytes.len(), count * element.size());
    (element, bytes)
}

#[test]
fn every_reference_computes_what_its_launch_files_ask() {
    let files = launch_files();
    assert!(files.len() > 80);
    let mut used = BTreeMap::new();
    for file in files {
        // Its 192 MiB would only repeat what the small launch shows.
        if file.ends_with("vadd_16m.toml") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let launch: Table = text.parse().unwrap();
        let buffers: BTreeMap<&str, (ElementType, Vec<u8>)> = launch["buffers"]
            .as_table()
            .unwrap()
            .iter()
            .map(|(name, buffer)| {
                (
                    name.as_str(),
                    contents(file.parent().unwrap(), buffer.as_table().unwrap()),
                )
            })
            .collect();
        let mut inputs = Inputs::new();
        for (name, (element, bytes)) in &buffers {
            inputs.buffer(name, *element, bytes);
        }
        if let Some(parameters) = launch.get("parameters") {
            for (name, value) in parameters.as_table().unwrap() {
                inputs.parameter(name, number(value));
            }
        }
        for check in launch["check"].as_array().unwrap() {
            let Some(name) = check.get("reference") else {
                assert!(buffers.contains_key(check["buffer"].as_str().unwrap()));
                continue;
            };
            let name = name.as_str().unwrap();
            let reference = reference::find(name)
                .unwrap_or_else(|| panic!("{}: no reference `{name}`", file.display()));
            let outputs =
                reference(&inputs).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            assert!(!outputs.is_empty());
            for output in outputs {
                let (element, bytes) = &buffers[output.buffer.as_str()];
                assert_eq!(output.values.element(), *element, "{}", file.display());
                assert_eq!(
                    output.values.to_bytes().len(),
                    bytes.len(),
                    "{}",
                    file.display()
                );
            }
            *used.entry(name.to_owned()).or_insert(0) += 1;
        }
    }
    let unused: Vec<_> = reference::names()
        .filter(|name| !used.contains_key(*name))
        .collect();
    assert!(
        unused.is_empty(),
        "references that no launch file uses: {unused:?}"
    );
}
