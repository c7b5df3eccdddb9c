//! The vendor's disassembler on bare words, shared by the examples that need it as oracle.

use std::path::{Path, PathBuf};
use std::process::Command;

use sass::compare::normalise;
use sass::{Architecture, Word};

/// What an example fails with.
pub type Failure = Box<dyn std::error::Error>;

/// A NOP, in place of words that the disassembler refuses.
const NOP: Word = Word::from_halves(0x7918, 0x000f_c000_0000_0000);

/// A file of bare words that is removed when dropped.
struct Code(PathBuf);

impl Drop for Code {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The vendor's text of each word at address 16 times its index; illegal words have none.
///
/// # Errors
/// If the disassembler of the folder `tools` cannot be run or fails in an unknown way.
pub fn texts(
    tools: &Path,
    words: &[Word],
    architecture: Architecture,
) -> Result<Vec<Option<String>>, Failure> {
    let code = Code(std::env::temp_dir().join(format!("vendor-corpus-{}", std::process::id())));
    let mut legal: Vec<Option<Word>> = words.iter().copied().map(Some).collect();
    let listing = loop {
        let bytes: Vec<u8> = legal
            .iter()
            .flat_map(|word| word.unwrap_or(NOP).0.to_le_bytes())
            .collect();
        std::fs::write(&code.0, bytes)?;
        let output = Command::new(tools.join("nvdisasm"))
            .args(["-ndf", "-b", &format!("SM{}", architecture.number())])
            .arg(&code.0)
            .output()?;
        // The disassembler refuses the file and tells the addresses of illegal words.
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let mut refused = 0;
        for part in errors.split("address 0x").skip(1) {
            let digits: String = part.chars().take_while(char::is_ascii_hexdigit).collect();
            let index = usize::from_str_radix(&digits, 16)? / 16;
            if let Some(word) = legal.get_mut(index) {
                refused += usize::from(word.take().is_some());
            }
        }
        if refused == 0 {
            // Words that several of its patterns describe end it without a usable address.
            if errors.contains("More than one pattern") {
                if words.len() == 1 {
                    return Ok(vec![None]);
                }
                let (front, back) = words.split_at(words.len() / 2);
                let mut halves = texts(tools, front, architecture)?;
                halves.extend(texts(tools, back, architecture)?);
                return Ok(halves);
            }
            if !output.status.success() {
                return Err(errors.into());
            }
            break String::from_utf8_lossy(&output.stdout).into_owned();
        }
    };
    let mut texts = vec![None; words.len()];
    for line in listing.lines() {
        let Some((address, rest)) = line
            .trim_start()
            .strip_prefix("/*")
            .and_then(|line| line.split_once("*/"))
        else {
            continue;
        };
        let Ok(address) = u64::from_str_radix(address, 16) else {
            continue;
        };
        let index = (address / 16) as usize;
        // Values without a meaning are named so.
        if legal.get(index).is_some_and(Option::is_some)
            && !rest.contains("???")
            && !rest.contains("INVALID")
        {
            texts[index] = Some(normalise(rest));
        }
    }
    Ok(texts)
}
