//! Which warp issued when, drawn as text and as SVG.

use std::fmt::Write;

/// One row of the drawing.
#[derive(Debug, Clone)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// Cycles with what was issued in them, in their order.
    pub issued: Vec<(u64, String)>,
}

/// A drawing of the cycles `first` to `last`.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// What it shows.
    pub title: String,
    /// The first cycle, drawn as 0.
    pub first: u64,
    /// The last cycle.
    pub last: u64,
    /// Warps, from top to bottom.
    pub lanes: Vec<Lane>,
}

/// Cycles in one line of text.
const COLUMNS: u64 = 100;
/// Cycles between two numbers of the ruler.
const RULER: u64 = 10;

/// Pixels of a cycle, and of a lane.
const CYCLE: u64 = 8;
const LANE: u64 = 18;
/// Pixels beside and above the lanes.
const LEFT: u64 = 48;
const TOP: u64 = 44;
/// Colours of lanes, told apart by eyes that do not see red and green too (Okabe and Ito).
pub(crate) const COLOURS: [&str; 8] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000",
];

impl Timeline {
    fn cycles(&self) -> u64 {
        (self.last + 1).saturating_sub(self.first)
    }

    /// Lines of at most 100 cycles: `#` where a warp issued, `.` where it did not.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        let width = self.lanes.iter().map(|l| l.name.len()).max().unwrap_or(0);
        let mut start = 0;
        while start < self.cycles() {
            let end = (start + COLUMNS).min(self.cycles());
            let mut ruler = String::new();
            for cycle in (start..end).step_by(RULER as usize) {
                let _ = write!(ruler, "{cycle:<10}");
            }
            let _ = write!(text, "\n{:width$}  {}\n", "", ruler.trim_end());
            for lane in &self.lanes {
                let mut marks = vec![b'.'; (end - start) as usize];
                for (cycle, _) in &lane.issued {
                    let place = cycle.wrapping_sub(self.first).wrapping_sub(start);
                    if let Some(mark) = marks.get_mut(place as usize) {
                        *mark = b'#';
                    }
                }
                let marks = String::from_utf8_lossy(&marks);
                let _ = writeln!(text, "{:width$}  {marks}", lane.name);
            }
            start = end;
        }
        text
    }

    /// A drawing for a browser; what was issued stands in the title of each mark.
    pub fn svg(&self) -> String {
        let width = LEFT + self.cycles() * CYCLE + 16;
        let height = TOP + self.lanes.len() as u64 * LANE + 12;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             font-family=\"monospace\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"14\">{}</text>\n",
            escaped(&self.title)
        );
        for cycle in (0..self.cycles()).step_by(RULER as usize) {
            let x = LEFT + cycle * CYCLE;
            let bottom = height - 8;
            let _ = writeln!(
                svg,
                "<line x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{bottom}\" stroke=\"#ddd\"/>\
                 <text x=\"{x}\" y=\"32\">{cycle}</text>",
                TOP - 8
            );
        }
        for (row, lane) in self.lanes.iter().enumerate() {
            let y = TOP + row as u64 * LANE;
            let colour = COLOURS[row % COLOURS.len()];
            let _ = writeln!(
                svg,
                "<text x=\"4\" y=\"{}\">{}</text>",
                y + 11,
                escaped(&lane.name)
            );
            for (cycle, what) in &lane.issued {
                if (self.first..=self.last).contains(cycle) {
                    let x = LEFT + (cycle - self.first) * CYCLE;
                    let _ = writeln!(
                        svg,
                        "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{colour}\">\
                         <title>{}: {}</title></rect>",
                        CYCLE - 1,
                        LANE - 4,
                        cycle - self.first,
                        escaped(what)
                    );
                }
            }
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// Text as XML has it.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_warps() -> Timeline {
        let lane = |name: &str, cycles: &[u64]| Lane {
            name: name.to_owned(),
            issued: cycles.iter().map(|&c| (c, "A < B".to_owned())).collect(),
        };
        Timeline {
            title: "one & two".to_owned(),
            first: 1000,
            last: 1104,
            lanes: vec![lane("W4", &[1000, 1001, 1104]), lane("W12", &[1002, 900])],
        }
    }

    #[test]
    fn text_has_a_mark_for_each_issue() {
        let text = two_warps().text();
        let marks: Vec<&str> = text.lines().filter(|line| line.starts_with('W')).collect();
        assert_eq!(marks[0], format!("W4   ##{}", ".".repeat(98)));
        assert_eq!(marks[1], format!("W12  ..#{}", ".".repeat(97)));
        assert_eq!(marks[2], "W4   ....#");
        assert_eq!(marks[3], "W12  .....");
    }

    #[test]
    fn svg_has_a_mark_for_each_issue_and_escapes() {
        let svg = two_warps().svg();
        assert_eq!(svg.matches("<title>").count(), 4);
        assert!(svg.contains("one &amp; two"), "{svg}");
        assert!(svg.contains("<title>104: A &lt; B</title>"), "{svg}");
    }
}
