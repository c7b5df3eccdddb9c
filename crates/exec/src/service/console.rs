//! The buffer of device `printf`: a ring of fixed size that the host reads when the launch has ended.
//! Where more is printed than fits, the oldest records are overwritten (CUDA C++ Programming Guide,
//! "Formatted Output").

use std::collections::VecDeque;

/// Bytes of the buffer unless the host asks for another size (`cudaLimitPrintfFifoSize`).
pub(crate) const CAPACITY: u64 = 1 << 20;

/// Bytes of a record before its arguments. The vendor's layout is not published; this holds what a
/// record needs: its size and the address of the format.
const HEADER: u64 = 16;

/// Bytes that a record takes: each argument eight, strings as they were copied.
pub(crate) fn record_bytes(arguments: u32, strings: u64) -> u64 {
    HEADER + 8 * u64::from(arguments) + strings
}

/// What device code has printed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Console {
    /// Text and bytes of each record, oldest first.
    records: VecDeque<(Vec<u8>, u64)>,
    bytes: u64,
    lost: u64,
    calls: u64,
}

/// Text that device code has printed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Printed {
    /// The text; bytes that are no UTF-8 are replaced.
    pub text: String,
    /// Calls of `printf` whose output was overwritten because the buffer was full.
    pub lost: u64,
    /// Calls of `printf` in all.
    pub calls: u64,
}

impl Console {
    /// Appends a record; the oldest ones make room.
    pub(crate) fn print(&mut self, text: Vec<u8>, bytes: u64) {
        self.calls += 1;
        self.bytes += bytes;
        self.records.push_back((text, bytes));
        while self.bytes > CAPACITY {
            let Some((_, bytes)) = self.records.pop_front() else {
                break;
            };
            self.bytes -= bytes;
            self.lost += 1;
        }
    }

    /// Empties the buffer.
    pub(crate) fn take(&mut self) -> Printed {
        let taken = std::mem::take(self);
        let bytes: Vec<u8> = taken
            .records
            .into_iter()
            .flat_map(|(text, _)| text)
            .collect();
        Printed {
            text: String::from_utf8_lossy(&bytes).into_owned(),
            lost: taken.lost,
            calls: taken.calls,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_records_are_overwritten() {
        let mut console = Console::default();
        let count = CAPACITY / record_bytes(1, 0) + 3;
        for index in 0..count {
            console.print(format!("{index}\n").into_bytes(), record_bytes(1, 0));
        }
        let printed = console.take();
        let lines: Vec<&str> = printed.text.lines().collect();
        assert_eq!((printed.lost, printed.calls), (3, count));
        assert_eq!(lines.first(), Some(&"3"));
        assert_eq!(lines.len() as u64, count - 3);
        assert_eq!(console.take(), Printed::default());
    }
}
