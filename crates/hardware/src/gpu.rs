//! A GPU: its document and those it inherits from, made one, with overrides and explanations.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::built_in::{self, Kind};
use crate::document::{Document, Entry};
use crate::nearest::nearest;
use crate::{Confidence, Declaration, HardwareError, Mismatch, Parameter, Place, Value};

/// No document of a GPU is larger than this.
const LARGEST_DOCUMENT: u64 = 1 << 20;
/// No chain of bases is longer than this.
const LONGEST_CHAIN: usize = 8;
/// The key that names the kind of DRAM.
const DRAM_KIND: &str = "dram.kind";
/// The file that overrides stand in.
const COMMAND_LINE: &str = "--set";

/// A GPU as its documents describe it.
#[derive(Clone, Debug)]
pub struct Gpu {
    name: String,
    title: String,
    architecture: u32,
    files: Vec<String>,
    entries: BTreeMap<String, Entry>,
    /// What an override replaced.
    replaced: BTreeMap<String, Entry>,
    declared: BTreeMap<&'static str, &'static Declaration>,
}

/// Everything that is known about one parameter of a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The key.
    pub key: String,
    /// The value in force.
    pub value: Value,
    /// The unit, empty for a plain number.
    pub unit: &'static str,
    /// The range that the stage declares.
    pub range: &'static str,
    /// Where the number comes from; `gpus/SOURCES.md` says what the short names mean.
    pub source: String,
    /// How far it may be trusted.
    pub confidence: Confidence,
    /// A remark of the document, where it makes one.
    pub note: Option<String>,
    /// What the parameter means.
    pub doc: String,
    /// The file and line that define it.
    pub defined_in: Place,
    /// The value of the document, where the command line overrides it.
    pub overridden: Option<Value>,
}

impl Gpu {
    /// Loads a GPU that is built in, by name, or one from a `.toml` file, by path.
    ///
    /// # Errors
    /// An unknown name (with those nearest), a file that cannot be read, or a document at fault.
    pub fn load(name: &str) -> Result<Gpu, HardwareError> {
        let mut gpu = Gpu {
            name: stem(name),
            title: String::new(),
            architecture: 0,
            files: Vec::new(),
            entries: BTreeMap::new(),
            replaced: BTreeMap::new(),
            declared: BTreeMap::new(),
        };
        gpu.adopt(crate::DECLARED)?;
        if built_in::find(name).is_some_and(|found| found.kind != Kind::Gpu) {
            return Err(HardwareError::Family {
                name: name.to_owned(),
                known: known(),
            });
        }
        let mut next = Some(name.to_owned());
        while let Some(name) = next {
            let (file, document) = read(&name, gpu.files.first().map(String::as_str))?;
            let seen = gpu.files.contains(&file);
            gpu.files.push(file);
            if seen || gpu.files.len() > LONGEST_CHAIN {
                return Err(HardwareError::BaseChain {
                    file: gpu.files[0].clone(),
                    chain: gpu.files,
                });
            }
            for entry in document.entries {
                gpu.entries.entry(entry.key.clone()).or_insert(entry);
            }
            next = document.base;
        }
        gpu.adopt_dram()?;
        gpu.refresh()?;
        Ok(gpu)
    }

    /// The name it was loaded by, without folder and ending.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The product's name.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The architecture number: 86 for `sm_86`.
    pub fn architecture(&self) -> u32 {
        self.architecture
    }

    /// The documents it is made of: its own first, then its bases.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Overrides one parameter, `key=value`.
    ///
    /// # Errors
    /// Text of another form, an unknown key (with those nearest), a value of the wrong kind or out
    /// of range.
    pub fn set(&mut self, assignment: &str) -> Result<(), HardwareError> {
        let (key, text) = assignment
            .split_once('=')
            .filter(|(key, text)| !key.trim().is_empty() && !text.trim().is_empty())
            .ok_or_else(|| HardwareError::Assignment {
                text: assignment.to_owned(),
            })?;
        let key = key.trim();
        let old = self.entry(key)?.clone();
        let value = match Value::from_text(text) {
            Value::Text(text) => Value::Text(text),
            // Text stays text where text is wanted, whatever it looks like.
            _ if matches!(old.value, Value::Text(_)) => Value::Text(text.trim().to_owned()),
            value => value,
        };
        let entry = Entry {
            value,
            source: "command line".to_owned(),
            place: Place {
                file: COMMAND_LINE.to_owned(),
                line: 0,
            },
            ..old.clone()
        };
        match self.declared.get(key) {
            Some(declaration) => check(declaration, &entry)?,
            None if entry.value.kind() != old.value.kind() => {
                let float = matches!(old.value, Value::Float(_));
                if !(float && matches!(entry.value, Value::Integer(_))) {
                    return Err(wrong_kind(&entry, old.value.kind()));
                }
            }
            None => {}
        }
        self.entries.insert(key.to_owned(), entry);
        self.replaced.entry(key.to_owned()).or_insert(old);
        if key == DRAM_KIND {
            self.adopt_dram()?;
        }
        self.refresh()
    }

    /// Takes what no document of the GPU says of its DRAM from the document of its kind.
    fn adopt_dram(&mut self) -> Result<(), HardwareError> {
        let Some(entry) = self.entries.get(DRAM_KIND) else {
            return Ok(());
        };
        let name = format!("{}{}", built_in::DRAM_FOLDER, entry.value);
        let Some(found) = built_in::find(&name).filter(|found| found.kind == Kind::Dram) else {
            let kinds = built_in::dram_kinds().join(", ");
            return Err(HardwareError::Document {
                place: entry.place.clone(),
                key: DRAM_KIND.to_owned(),
                message: format!("is {}, but must be one of {kinds}", entry.value),
            });
        };
        let folder = format!("gpus/{}", built_in::DRAM_FOLDER);
        let other = |file: &String| !file.starts_with(&folder);
        self.files.retain(other);
        self.entries.retain(|_, entry| other(&entry.place.file));
        let file = format!("gpus/{name}.toml");
        for entry in Document::parse(&file, found.text)?.entries {
            self.entries.entry(entry.key.clone()).or_insert(entry);
        }
        self.files.push(file);
        Ok(())
    }

    /// Compares the documents with all that is declared, and keeps the declarations for
    /// [`set`](Gpu::set) and [`explain`](Gpu::explain).
    ///
    /// # Errors
    /// A declared key that no document gives, a key that nothing declares, a value of the wrong
    /// kind or out of range.
    pub fn check(&mut self, declared: &[&'static [Declaration]]) -> Result<(), HardwareError> {
        self.adopt(declared)?;
        for declaration in self.declared.values() {
            if self.entries.contains_key(declaration.key) || !declaration.optional {
                check(declaration, self.given(declaration)?)?;
            }
        }
        for entry in self.entries.values() {
            if !self.declared.contains_key(entry.key.as_str()) {
                return Err(HardwareError::UndeclaredKey {
                    place: entry.place.clone(),
                    key: entry.key.clone(),
                    nearest: nearest(&entry.key, self.declared.keys().copied()),
                });
            }
        }
        Ok(())
    }

    /// All that is known about one parameter.
    ///
    /// # Errors
    /// An unknown key, with those nearest.
    pub fn explain(&self, key: &str) -> Result<Explanation, HardwareError> {
        let entry = self.entry(key)?;
        let declaration = self.declared.get(key);
        Ok(Explanation {
            key: entry.key.clone(),
            value: entry.value.clone(),
            unit: declaration.map_or("", |declaration| declaration.unit),
            range: declaration.map_or("", |declaration| declaration.range),
            source: entry.source.clone(),
            confidence: entry.confidence,
            note: entry.note.clone(),
            doc: declaration.map_or(String::new(), |declaration| {
                let lines = declaration.doc.lines().map(str::trim);
                lines.collect::<Vec<_>>().join(" ").trim().to_owned()
            }),
            defined_in: entry.place.clone(),
            overridden: self.replaced.get(key).map(|old| old.value.clone()),
        })
    }

    /// The error of a value that is in range by itself but does not fit the others; `right` says what
    /// it must be.
    pub fn misfit(&self, key: &str, right: &str) -> HardwareError {
        match self.entry(key) {
            Ok(entry) => HardwareError::Document {
                place: entry.place.clone(),
                key: key.to_owned(),
                message: format!("is {}, but must be {right}", entry.value),
            },
            Err(error) => error,
        }
    }

    /// Every key of the GPU with its value, in the order of the keys.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries
            .values()
            .map(|entry| (entry.key.as_str(), &entry.value))
    }

    /// Whether the GPU has a value for `key`.
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// The value of one key.
    ///
    /// # Errors
    /// An unknown key, with those nearest.
    pub fn value(&self, key: &str) -> Result<&Value, HardwareError> {
        Ok(&self.entry(key)?.value)
    }

    /// The value of the next declaration, for [`parameters!`](crate::parameters).
    #[doc(hidden)]
    pub fn load_next<T: Parameter>(
        &self,
        declared: &mut std::slice::Iter<'static, Declaration>,
    ) -> Result<T, HardwareError> {
        let Some(declaration) = declared.next() else {
            return Err(HardwareError::UnknownKey {
                key: String::new(),
                nearest: Vec::new(),
            });
        };
        if let (false, Some(absent)) = (self.entries.contains_key(declaration.key), T::absent()) {
            return Ok(absent);
        }
        let entry = self.given(declaration)?;
        check(declaration, entry)?;
        T::from_value(&entry.value).map_err(|mismatch| fault(declaration, entry, mismatch))
    }

    fn adopt(&mut self, declared: &[&'static [Declaration]]) -> Result<(), HardwareError> {
        for declaration in declared.iter().copied().flatten() {
            let old = self.declared.insert(declaration.key, declaration);
            if old.is_some_and(|old| old != declaration) {
                return Err(HardwareError::DeclaredTwice {
                    key: declaration.key.to_owned(),
                });
            }
        }
        Ok(())
    }

    fn refresh(&mut self) -> Result<(), HardwareError> {
        let card = crate::CardParameters::load(self)?;
        self.title = card.title;
        self.architecture = card.architecture;
        Ok(())
    }

    fn entry(&self, key: &str) -> Result<&Entry, HardwareError> {
        self.entries
            .get(key)
            .ok_or_else(|| HardwareError::UnknownKey {
                key: key.to_owned(),
                nearest: nearest(key, self.entries.keys().map(String::as_str)),
            })
    }

    fn given(&self, declaration: &Declaration) -> Result<&Entry, HardwareError> {
        self.entries
            .get(declaration.key)
            .ok_or_else(|| HardwareError::MissingKey {
                files: self.files.clone(),
                key: declaration.key.to_owned(),
                range: declaration.range,
                unit: declaration.unit,
            })
    }
}

fn known() -> Vec<String> {
    built_in::names().into_iter().map(str::to_owned).collect()
}

/// The name of a GPU loaded from a path: the file's, without its ending.
fn stem(name: &str) -> String {
    match Path::new(name).file_stem() {
        Some(stem) if is_path(name) => stem.to_string_lossy().into_owned(),
        _ => name.to_owned(),
    }
}

fn is_path(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e == "toml")
}

/// The document of that name and the name of its file; a relative path in a `base` starts from the
/// folder of the document that the chain started with.
fn read(name: &str, first: Option<&str>) -> Result<(String, Document), HardwareError> {
    if !is_path(name) {
        let found = built_in::find(name).ok_or_else(|| HardwareError::UnknownGpu {
            name: name.to_owned(),
            nearest: nearest(name, built_in::names().into_iter()),
            known: known(),
        })?;
        let file = format!("gpus/{name}.toml");
        let document = Document::parse(&file, found.text)?;
        return Ok((file, document));
    }
    let folder = first.and_then(|first| Path::new(first).parent());
    let path = folder.map_or_else(|| Path::new(name).to_owned(), |folder| folder.join(name));
    let file = path.display().to_string();
    let unreadable = |source| HardwareError::Unreadable {
        file: file.clone(),
        source,
    };
    let mut text = String::new();
    let length = File::open(&path)
        .and_then(|opened| opened.take(LARGEST_DOCUMENT + 1).read_to_string(&mut text))
        .map_err(unreadable)?;
    if length as u64 > LARGEST_DOCUMENT {
        return Err(HardwareError::TooLarge {
            file,
            limit: LARGEST_DOCUMENT,
        });
    }
    let document = Document::parse(&file, &text)?;
    Ok((file, document))
}

fn check(declaration: &Declaration, entry: &Entry) -> Result<(), HardwareError> {
    (declaration.check)(&entry.value).map_err(|mismatch| fault(declaration, entry, mismatch))
}

fn fault(declaration: &Declaration, entry: &Entry, mismatch: Mismatch) -> HardwareError {
    match mismatch {
        Mismatch::Kind(expected) => wrong_kind(entry, expected),
        Mismatch::Range => HardwareError::OutOfRange {
            place: entry.place.clone(),
            key: entry.key.clone(),
            value: entry.value.to_string(),
            range: declaration.range,
            unit: declaration.unit,
        },
    }
}

fn wrong_kind(entry: &Entry, expected: &'static str) -> HardwareError {
    HardwareError::WrongKind {
        place: entry.place.clone(),
        key: entry.key.clone(),
        value: entry.value.to_string(),
        expected,
    }
}
