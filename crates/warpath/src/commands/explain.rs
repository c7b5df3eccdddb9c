//! `warpath explain`: what is known about a parameter of a GPU.

use std::io::Write;

use hardware::{Explanation, Gpu, Value};
use report::table::{Align, Table};
use serde_json::json;

use crate::cli::{ExplainArguments, ListFormat};
use crate::failure::{Failure, Problem};
use crate::input::load_gpu;

/// Prints one parameter in full, or those whose keys start with what is given.
pub fn run(arguments: &ExplainArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let gpu = load_gpu(&arguments.gpu, &arguments.set)?;
    let key = arguments.key.as_deref().unwrap_or("");
    let exact = gpu.keys().any(|(known, _)| known == key);
    let keys: Vec<&str> = gpu
        .keys()
        .map(|(known, _)| known)
        .filter(|known| {
            if exact {
                *known == key
            } else {
                known.starts_with(key)
            }
        })
        .collect();
    let explain = |key: &str| {
        gpu.explain(key).map_err(|error| {
            Problem::new(format!("{}: {error}", gpu.name()))
                .help(format!(
                    "`warpath explain --gpu {}` lists all keys",
                    gpu.name()
                ))
                .input()
        })
    };
    if keys.is_empty() {
        explain(key)?;
    }
    let explanations = keys
        .into_iter()
        .map(explain)
        .collect::<Result<Vec<_>, _>>()?;
    match (arguments.format, explanations.as_slice()) {
        (ListFormat::Json, [one]) if exact => super::write_json(&as_json(one), out),
        (ListFormat::Json, all) => {
            super::write_json(&all.iter().map(as_json).collect::<Vec<_>>(), out)
        }
        (ListFormat::Text, [one]) => write_one(&gpu, one, out),
        (ListFormat::Text, all) => {
            let mut table = Table::new(&[
                ("key", Align::Left),
                ("value", Align::Right),
                ("unit", Align::Left),
                ("confidence", Align::Left),
                ("source", Align::Left),
            ]);
            for one in all {
                table.row([
                    one.key.clone(),
                    shorten(&one.value.to_string()),
                    one.unit.to_owned(),
                    one.confidence.name().to_owned(),
                    one.source.clone(),
                ]);
            }
            write!(out, "{table}")?;
            Ok(())
        }
    }
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= 32 {
        return text.to_owned();
    }
    text.chars().take(31).chain(['…']).collect()
}

fn write_one(gpu: &Gpu, one: &Explanation, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(
        out,
        "{} = {}{}{}",
        one.key,
        one.value,
        gap(one.unit),
        one.unit
    )?;
    writeln!(out)?;
    let mut line = |name: &str, text: &str| -> std::io::Result<()> {
        if text.is_empty() {
            Ok(())
        } else {
            writeln!(out, "  {name:<12}{text}")
        }
    };
    line("GPU", &format!("{} ({})", gpu.title(), gpu.name()))?;
    line("meaning", &one.doc)?;
    line("range", one.range)?;
    line("source", &one.source)?;
    line("confidence", one.confidence.name())?;
    line("note", one.note.as_deref().unwrap_or(""))?;
    line("defined in", &one.defined_in.to_string())?;
    if let Some(old) = &one.overridden {
        line("overrides", &old.to_string())?;
    }
    Ok(())
}

fn gap(unit: &str) -> &'static str {
    if unit.is_empty() { "" } else { " " }
}

fn as_json(one: &Explanation) -> serde_json::Value {
    json!({
        "key": one.key,
        "value": value_json(&one.value),
        "unit": one.unit,
        "range": one.range,
        "source": one.source,
        "confidence": one.confidence.name(),
        "note": one.note,
        "meaning": one.doc,
        "defined_in": one.defined_in.to_string(),
        "overrides": one.overridden.as_ref().map(value_json),
    })
}

fn value_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Integer(integer) => match i64::try_from(*integer) {
            Ok(integer) => json!(integer),
            Err(_) => json!(integer.to_string()),
        },
        Value::Float(float) => json!(float),
        Value::Boolean(flag) => json!(flag),
        Value::Text(text) => json!(text),
        Value::List(list) => json!(list.iter().map(|item| *item as i64).collect::<Vec<_>>()),
        Value::Masks(masks) => json!(masks),
    }
}
