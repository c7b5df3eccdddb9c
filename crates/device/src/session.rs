//! A workload on a device: buffers filled, launches run in order, results checked.

use std::path::{Path, PathBuf};

use exec::texture::{Image, TextureIndex};
use hardware::Gpu;
use reference::{Comparison, ElementType, Initializer, Inputs, Values, compare, initialize};

use crate::device::{Device, LoadedCubin};
use crate::engine::Progress;
use crate::error::RunError;
use crate::files::Files;
use crate::launch::{Buffer, CheckOutcome, Contents, Expectation, Workload, place_images};
use crate::options::RunOptions;
use crate::report::RunReport;
use crate::walk::WalkError;

/// No cubin is larger than this.
const LARGEST_CUBIN: u64 = 1 << 30;
/// Bytes of first contents other than zeros that one workload may have.
const MOST_CONTENTS: u64 = 4 << 30;

/// A workload with the device that it runs on.
#[derive(Debug)]
pub struct Session<'a> {
    workload: &'a Workload,
    files: &'a Files,
    device: Device,
    addresses: Vec<u64>,
    textures: Vec<TextureIndex>,
    /// Arrays that surfaces write, with the buffers they go back to.
    written: Vec<(usize, Image)>,
}

/// How far a run is: which launch, and how far in it.
#[derive(Debug, Clone, Copy)]
pub struct RunProgress {
    /// Position of the launch, from 0.
    pub launch: usize,
    /// Launches in all.
    pub launches: usize,
    /// How far the launch is.
    pub progress: Progress,
}

impl<'a> Session<'a> {
    /// A device with the workload's buffers in its memory.
    ///
    /// # Errors
    /// A GPU at fault, buffers that do not fit its memory or cannot be filled.
    pub fn new(
        workload: &'a Workload,
        files: &'a Files,
        gpu: Gpu,
        options: &RunOptions,
    ) -> Result<Session<'a>, RunError> {
        let pages = options.pages.or(workload.pages).unwrap_or_default();
        let seed = options.page_seed.or(workload.page_seed).unwrap_or(0);
        let mut device = Device::with_pages(gpu, options.threads, pages.order(seed))?;
        let filled = workload
            .buffers
            .iter()
            .filter(|buffer| !buffer.contents.is_zero());
        let bytes = filled.fold(0u64, |sum, buffer| sum.saturating_add(buffer.bytes()));
        if bytes > MOST_CONTENTS {
            return Err(RunError::TooMuch {
                bytes,
                limit: MOST_CONTENTS,
            });
        }
        let memory = device.memory_mut();
        let mut addresses = Vec::with_capacity(workload.buffers.len());
        for buffer in &workload.buffers {
            addresses.push(memory.allocate(buffer.bytes(), &buffer.name)?);
        }
        for (buffer, address) in workload.buffers.iter().zip(&addresses) {
            if !buffer.contents.is_zero() {
                let bytes = first_contents(buffer, *address, files)?;
                device.memory_mut().write(*address, &bytes)?;
                device.copied(*address, bytes.len() as u64);
            }
        }
        let mut session = Session {
            workload,
            files,
            device,
            addresses,
            textures: Vec::new(),
            written: Vec::new(),
        };
        session.add_textures()?;
        Ok(session)
    }

    /// Makes the textures and surfaces; arrays are filled from their buffers.
    fn add_textures(&mut self) -> Result<(), RunError> {
        let objects = &self.workload.objects;
        let images = place_images(objects, &self.addresses, self.device.memory_mut())?;
        for (object, image) in objects.iter().zip(images) {
            let written = self
                .written
                .iter()
                .any(|(buffer, _)| *buffer == object.buffer);
            if object.sampler.is_none() && !written {
                self.written.push((object.buffer, image.clone()));
            }
            self.textures
                .push(self.device.add_texture(image, object.sampler)?);
        }
        Ok(())
    }

    /// Copies what surfaces hold back to their buffers.
    fn collect_surfaces(&mut self) -> Result<(), RunError> {
        for (buffer, image) in std::mem::take(&mut self.written) {
            let mut texels = self.contents(buffer)?;
            image.download(self.device.memory(), &mut texels)?;
            self.device
                .memory_mut()
                .write(self.addresses[buffer], &texels)?;
            self.written.push((buffer, image));
        }
        Ok(())
    }

    /// Runs all launches and checks the results.
    ///
    /// # Errors
    /// Input at fault, found before anything runs, or a run that fails.
    pub fn run(
        &mut self,
        options: &RunOptions,
        progress: &mut (dyn FnMut(RunProgress) + Send),
    ) -> Result<RunReport, RunError> {
        for check in &self.workload.checks {
            if let Expectation::Reference(name) = &check.expectation
                && reference::find(name).is_none()
            {
                return Err(RunError::UnknownReference {
                    name: name.clone(),
                    known: reference::names().collect(),
                });
            }
        }
        let options = &RunOptions {
            heap: options.heap.or(self.workload.heap),
            ..options.clone()
        };
        let name = self.cubin_name()?;
        let bytes = self.files.read(&name, LARGEST_CUBIN)?;
        let code = self.device.open(&self.files.path(&name), &bytes)?;
        drop(bytes);
        // A program may have several modules; those that no launch uses are not loaded, as the
        // driver does it.
        let mut modules: Vec<Option<LoadedCubin>> = Vec::new();
        modules.resize_with(code.cubins.len(), || None);
        let mut prepared = Vec::with_capacity(self.workload.launches.len());
        for launch in &self.workload.launches {
            let holder = code.holder(&launch.kernel)?;
            if modules[holder].is_none() {
                modules[holder] = Some(self.device.load(&code.file, &code.cubins[holder])?);
            }
            if let Some(loaded) = &modules[holder] {
                let ready = self.device.prepare(
                    loaded,
                    launch,
                    &self.addresses,
                    &self.textures,
                    options,
                )?;
                prepared.push((holder, ready));
            }
        }

        let launches = prepared.len();
        let followed = options.walk.as_ref().map(|walk| walk.launch);
        if let Some(launch) = followed.filter(|&launch| launch >= launches) {
            let kernel = self.workload.launches.last();
            return Err(RunError::Walk {
                kernel: kernel.map_or(String::new(), |last| last.kernel.clone()),
                error: WalkError::NoLaunch { launch, launches },
            });
        }
        let others = RunOptions {
            walk: None,
            ..options.clone()
        };
        let mut reports = Vec::with_capacity(launches);
        for (launch, (holder, prepared)) in prepared.into_iter().enumerate() {
            let mut told = |now: Progress| {
                progress(RunProgress {
                    launch,
                    launches,
                    progress: now,
                })
            };
            let options = match followed == Some(launch) {
                true => options,
                false => &others,
            };
            let mut report = self.device.run(&prepared, options, &mut told)?;
            for section in code.cubins[holder].not_loaded() {
                report
                    .not_modelled
                    .push(format!("section {section} of the cubin is not loaded"));
            }
            reports.push(report);
        }
        self.collect_surfaces()?;
        let checks = self.check()?;
        Ok(RunReport {
            title: self.workload.title.clone(),
            launches: reports,
            checks,
        })
    }

    /// What device code printed in a launch that failed: the reports of the others hold theirs.
    pub fn take_printed(&mut self) -> String {
        self.device.memory_mut().take_printed().text
    }

    /// What a buffer holds now.
    ///
    /// # Errors
    /// A buffer that is not there, or too large for the host.
    pub fn contents(&self, buffer: usize) -> Result<Vec<u8>, RunError> {
        let (Some(wanted), Some(&address)) = (
            self.workload.buffers.get(buffer),
            self.addresses.get(buffer),
        ) else {
            return Ok(Vec::new());
        };
        let mut bytes = Vec::new();
        let size = usize::try_from(wanted.bytes()).unwrap_or(usize::MAX);
        bytes.try_reserve_exact(size).map_err(|_| RunError::Init {
            buffer: wanted.name.clone(),
            error: reference::InitError::TooLarge {
                count: size,
                element: wanted.element,
            },
        })?;
        bytes.resize(size, 0);
        self.device.memory().read(address, &mut bytes)?;
        Ok(bytes)
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The cubin's name for the GPU at hand.
    fn cubin_name(&self) -> Result<PathBuf, RunError> {
        const PLACE: &str = "{arch}";
        let wanted = self.device.gpu().architecture();
        let name = self.workload.cubin.to_string_lossy();
        if let Some(architectures) = &self.workload.architectures
            && name.contains(PLACE)
            && !architectures.contains(&wanted)
        {
            return Err(RunError::NoCode {
                file: self.files.path(&self.workload.cubin),
                gpu: self.device.gpu().name().to_owned(),
                hardware: wanted,
                architectures: architectures.clone(),
            });
        }
        Ok(PathBuf::from(name.replace(PLACE, &format!("sm_{wanted}"))))
    }

    fn check(&self) -> Result<Vec<CheckOutcome>, RunError> {
        let mut outcomes = Vec::new();
        for check in &self.workload.checks {
            match &check.expectation {
                Expectation::Values { buffer, values } => {
                    let wanted = &self.workload.buffers[*buffer];
                    let bytes = initial(wanted, values)?;
                    let expected = values_of(wanted.element, &bytes);
                    outcomes.push(CheckOutcome {
                        expectation: "values".to_owned(),
                        buffer: wanted.name.clone(),
                        comparison: self.compare(*buffer, &expected, check.tolerance)?,
                    });
                }
                Expectation::Reference(name) => {
                    self.check_reference(name, check.tolerance, &mut outcomes)?;
                }
            }
        }
        Ok(outcomes)
    }

    fn check_reference(
        &self,
        name: &str,
        tolerance: reference::Tolerance,
        outcomes: &mut Vec<CheckOutcome>,
    ) -> Result<(), RunError> {
        let Some(function) = reference::find(name) else {
            return Ok(());
        };
        let contents = self
            .workload
            .buffers
            .iter()
            .zip(&self.addresses)
            .map(|(buffer, address)| first_contents(buffer, *address, self.files))
            .collect::<Result<Vec<_>, _>>()?;
        let mut inputs = Inputs::new();
        for (buffer, bytes) in self.workload.buffers.iter().zip(&contents) {
            inputs.buffer(&buffer.name, buffer.element, bytes);
        }
        for (parameter, value) in &self.workload.parameters {
            inputs.parameter(parameter, *value);
        }
        let outputs = function(&inputs).map_err(|error| RunError::Reference {
            name: name.to_owned(),
            error,
        })?;
        drop(contents);
        for output in outputs {
            let place = self
                .workload
                .buffers
                .iter()
                .position(|b| b.name == output.buffer);
            let Some(place) = place else {
                return Err(RunError::Reference {
                    name: name.to_owned(),
                    error: reference::ReferenceError::MissingBuffer(output.buffer),
                });
            };
            outcomes.push(CheckOutcome {
                expectation: name.to_owned(),
                comparison: self.compare(place, &output.values, tolerance)?,
                buffer: output.buffer,
            });
        }
        Ok(())
    }

    fn compare(
        &self,
        buffer: usize,
        expected: &Values,
        tolerance: reference::Tolerance,
    ) -> Result<Comparison, RunError> {
        let wanted = &self.workload.buffers[buffer];
        let got = values_of(wanted.element, &self.contents(buffer)?);
        compare(&got, expected, tolerance).map_err(|error| RunError::Compare {
            buffer: wanted.name.clone(),
            error,
        })
    }
}

/// Whole elements as values; a buffer's bytes always are.
fn values_of(element: ElementType, bytes: &[u8]) -> Values {
    let whole = bytes.len() - bytes.len() % element.size();
    Values::from_bytes(element, &bytes[..whole]).unwrap_or(Values::U8(Vec::new()))
}

fn initial(buffer: &Buffer, initializer: &Initializer) -> Result<Vec<u8>, RunError> {
    let wrong = |error| RunError::Init {
        buffer: buffer.name.clone(),
        error,
    };
    let too_large = reference::InitError::TooLarge {
        count: usize::MAX,
        element: buffer.element,
    };
    let count = usize::try_from(buffer.count).map_err(|_| wrong(too_large))?;
    initialize(initializer, buffer.element, count).map_err(wrong)
}

/// What `buffer`, which lies at `address`, holds before the first launch.
fn first_contents(buffer: &Buffer, address: u64, files: &Files) -> Result<Vec<u8>, RunError> {
    match &buffer.contents {
        Contents::Computed(initializer) => initial(buffer, initializer),
        Contents::File(name) => from_file(buffer, name, files),
        Contents::Pointers { stride } => {
            let element = buffer.element.size() as u64;
            let target = |index: u64| (index + stride % buffer.count) % buffer.count;
            let pointers = (0..buffer.count).map(|index| address + target(index) * element);
            Ok(pointers.flat_map(u64::to_le_bytes).collect())
        }
    }
}

fn from_file(buffer: &Buffer, name: &Path, files: &Files) -> Result<Vec<u8>, RunError> {
    let expected = buffer.bytes();
    let bytes = files.read(name, MOST_CONTENTS)?;
    if bytes.len() as u64 != expected {
        return Err(RunError::FileSize {
            file: files.path(name),
            buffer: buffer.name.clone(),
            found: bytes.len() as u64,
            expected,
            count: buffer.count,
            element: buffer.element.name(),
        });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of pointers visits every element of its stride and comes back to its start.
    #[test]
    fn pointers_form_chains_of_addresses() {
        let buffer = Buffer {
            name: "chain".to_owned(),
            element: ElementType::U64,
            count: 12,
            contents: Contents::Pointers { stride: 4 },
        };
        let base = 0x7f00_0000_4200;
        let bytes = first_contents(&buffer, base, &Files::Folder(".".into())).unwrap();
        let element = |address: u64| {
            let at = (address - base) as usize;
            u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
        };
        let mut at = base + 8;
        for expected in [5, 9, 1, 5] {
            at = element(at);
            assert_eq!(at, base + 8 * expected);
        }
    }
}
