//! From an experiment's code to that of one variant: keys replaced, `.fori` and `.first` unrolled.
//! (`.rept` is the assembler's.)

use std::collections::BTreeMap;

/// Lines that an expansion gives at most.
const MOST_LINES: usize = 1 << 20;
/// What stands in place of instructions that `.first` leaves out.
const NOTHING: &str = "[B------:R-:W-:-:S01] NOP ;";

/// Replaces `{KEY}` by its value.
///
/// # Errors
/// A key without a value.
pub fn substitute(text: &str, values: &BTreeMap<String, String>) -> Result<String, String> {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, behind) = rest.split_at(open);
        replaced.push_str(before);
        let close = behind.find('}').unwrap_or(behind.len());
        let key = behind.get(1..close).unwrap_or("");
        // Counter sets of DEPBAR, `{3,0}`, are no keys.
        let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic());
        if !is_key {
            replaced.push('{');
            rest = &behind[1..];
            continue;
        }
        let value = values
            .get(key)
            .ok_or_else(|| format!("`{{{key}}}` has no value in `sub`"))?;
        replaced.push_str(value);
        rest = behind.get(close + 1..).unwrap_or("");
    }
    replaced.push_str(rest);
    Ok(replaced)
}

/// Unrolls `.fori N` … `.endr` (`R[a+2i]` evaluated for i = 0 to N − 1) and `.first N` … `.endfirst`
/// (all but the first N instructions become NOPs).
///
/// # Errors
/// A repetition without its end or number.
pub fn unroll(text: &str) -> Result<String, String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut unrolled = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let line = lines[index].trim();
        if let Some(count) = line.strip_prefix(".fori") {
            let times = number(count)?;
            let end = position(&lines, index, ".endr")?;
            for i in 0..times {
                for body in &lines[index + 1..end] {
                    unrolled.push(evaluate(body, i)?);
                }
                if unrolled.len() > MOST_LINES {
                    return Err(format!("more than {MOST_LINES} lines"));
                }
            }
            index = end;
        } else if let Some(count) = line.strip_prefix(".first") {
            let mut left = number(count)?;
            let end = position(&lines, index, ".endfirst")?;
            for body in &lines[index + 1..end] {
                let is_instruction = !body.trim().is_empty() && !body.trim().starts_with("//");
                if is_instruction && left == 0 {
                    unrolled.push(NOTHING.to_owned());
                } else {
                    unrolled.push((*body).to_owned());
                    left -= usize::from(is_instruction);
                }
            }
            index = end;
        } else {
            unrolled.push(lines[index].to_owned());
        }
        index += 1;
    }
    Ok(unrolled.join("\n"))
}

fn number(text: &str) -> Result<usize, String> {
    let text = text.trim();
    text.parse()
        .ok()
        .filter(|&number| number <= MOST_LINES)
        .ok_or_else(|| format!("`{text}` is no number of times"))
}

fn position(lines: &[&str], from: usize, end: &str) -> Result<usize, String> {
    lines
        .iter()
        .skip(from)
        .position(|line| line.trim() == end)
        .map(|offset| from + offset)
        .ok_or_else(|| format!("`{}` without `{end}`", lines[from].trim()))
}

/// Replaces every `[a+bi]` behind an `R` by the number.
fn evaluate(line: &str, i: usize) -> Result<String, String> {
    let mut replaced = String::new();
    let mut rest = line;
    while let Some(open) = rest.find("R[") {
        let (before, behind) = rest.split_at(open);
        let Some(close) = behind.find(']') else {
            break;
        };
        replaced.push_str(before);
        let formula = &behind[2..close];
        let (base, factor) = formula.split_once('+').unwrap_or((formula, "0i"));
        let factor = factor.trim().strip_suffix('i').unwrap_or("");
        let factor = if factor.is_empty() { "1" } else { factor };
        match (base.trim().parse::<usize>(), factor.parse::<usize>()) {
            (Ok(base), Ok(factor)) => {
                let number = base.saturating_add(factor.saturating_mul(i));
                replaced.push_str(&format!("R{number}"));
            }
            _ => return Err(format!("`R[{formula}]` is not of the form R[a+bi]")),
        }
        rest = &behind[close + 1..];
    }
    replaced.push_str(rest);
    Ok(replaced)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn keys_are_replaced_and_counter_sets_kept() {
        let values = [("STALL".to_owned(), "S04".to_owned())].into();
        let text = substitute(
            "[B------:R-:W-:-:{STALL}] DEPBAR.LE SB0, 0x1, {3,0} ;",
            &values,
        );
        assert_eq!(
            text.unwrap(),
            "[B------:R-:W-:-:S04] DEPBAR.LE SB0, 0x1, {3,0} ;"
        );
        assert!(substitute("{OTHER}", &values).is_err());
        assert_eq!(substitute("{", &values).unwrap(), "{");
    }

    #[test]
    fn repetitions_with_a_number_are_unrolled() {
        let text = unroll(".fori 3\nIADD3 R1, R[10+2i], R[11+2i], R1 ;\n.endr").unwrap();
        let last = text.lines().last();
        assert_eq!(last, Some("IADD3 R1, R14, R15, R1 ;"));
        assert!(unroll(".fori 3\nNOP").is_err());
        assert!(unroll(".fori x\n.endr").is_err());
    }

    #[test]
    fn left_out_instructions_become_nops() {
        let text = unroll(".first 1\n// a\nA\nB\n.endfirst\nC").unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines, ["// a", "A", NOTHING, "C"]);
    }
}
