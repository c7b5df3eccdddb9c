//! Measurements drawn as SVG: lines or points over one axis.

use std::fmt::Write;

use crate::timeline::{COLOURS, escaped};

/// How an axis is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, from 0.
    Linear,
    /// By powers of two; values must be positive.
    Binary,
}

/// One axis.
#[derive(Debug, Clone)]
pub struct Axis {
    /// What it shows, with its unit.
    pub title: String,
    /// How it is divided.
    pub scale: Scale,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Points joined by lines.
    Line,
    /// Points alone.
    Points,
    /// Bars from the axis upwards.
    Bars,
}

/// One series of measurements.
#[derive(Debug, Clone)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// How it is drawn.
    pub mark: Mark,
    /// Its points (x, y).
    pub points: Vec<(f64, f64)>,
}

/// A drawing.
#[derive(Debug, Clone)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, the first below the others.
    pub series: Vec<Series>,
}

/// Pixels of the drawing, and of what lies around the field.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 52.0;
/// Most divisions of an axis that carry a number.
const DIVISIONS: f64 = 10.0;

/// An axis with the range that it shows, in the scale's own measure.
struct Range {
    scale: Scale,
    first: f64,
    last: f64,
    step: f64,
}

impl Range {
    fn of(scale: Scale, values: impl Iterator<Item = f64> + Clone) -> Range {
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(f64::NEG_INFINITY, f64::max);
        if !least.is_finite() || !most.is_finite() {
            return Range {
                scale: Scale::Linear,
                first: 0.0,
                last: 1.0,
                step: 1.0,
            };
        }
        match scale {
            Scale::Linear => {
                let (first, most) = (least.min(0.0), if most > 0.0 { most } else { 1.0 });
                let step = even_step((most - first) / DIVISIONS);
                let first = (first / step).floor() * step;
                Range {
                    scale,
                    first,
                    last: (most / step).ceil() * step,
                    step,
                }
            }
            Scale::Binary => {
                let first = least.max(f64::MIN_POSITIVE).log2().floor();
                let last = most.max(f64::MIN_POSITIVE).log2().ceil().max(first + 1.0);
                Range {
                    scale,
                    first,
                    last,
                    step: ((last - first) / DIVISIONS).ceil(),
                }
            }
        }
    }

    /// Where a value lies, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let value = match self.scale {
            Scale::Linear => value,
            Scale::Binary => value.max(f64::MIN_POSITIVE).log2(),
        };
        (value - self.first) / (self.last - self.first)
    }

    /// Divisions with their texts.
    fn divisions(&self) -> impl Iterator<Item = (f64, String)> {
        let count = ((self.last - self.first) / self.step).round() as u64;
        (0..=count).map(|index| {
            let at = self.first + index as f64 * self.step;
            match self.scale {
                Scale::Linear => (at, short(at)),
                Scale::Binary => (at.exp2(), short(at.exp2())),
            }
        })
    }
}

/// The least of 1, 2 and 5 times a power of ten that is not below `least`.
fn even_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0].into_iter();
    let mut steps = factors.map(|factor| factor * power);
    steps
        .find(|&step| step >= least * 0.999_999)
        .unwrap_or(power)
}

/// A number in few characters: binary prefixes where it is a multiple of them.
fn short(value: f64) -> String {
    for (unit, letter) in [(1u64 << 30, 'G'), (1 << 20, 'M'), (1 << 10, 'K')] {
        let scaled = value / unit as f64;
        if scaled >= 1.0 && scaled.fract() == 0.0 {
            return format!("{scaled}{letter}");
        }
    }
    let rounded = (value * 1000.0).round() / 1000.0;
    format!("{rounded}")
}

impl Plot {
    /// The drawing for a browser; the title of each point tells its values.
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = Range::of(self.x.scale, points().map(|point| point.0));
        let y = Range::of(self.y.scale, points().map(|point| point.1));
        let across = |value: f64| LEFT + x.place(value) * (WIDTH - LEFT - RIGHT);
        let up = |value: f64| HEIGHT - BOTTOM - y.place(value) * (HEIGHT - TOP - BOTTOM);
        let floor = HEIGHT - BOTTOM;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"18\" font-size=\"13\">{}</text>\n",
            escaped(&self.title)
        );
        for (value, text) in x.divisions() {
            let at = across(value);
            let _ = writeln!(
                svg,
                "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{floor}\" stroke=\"#ddd\"/>\
                 <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
                floor + 16.0
            );
        }
        for (value, text) in y.divisions() {
            let at = up(value);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 4.0
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 14.0,
            escaped(&self.x.title),
            (TOP + floor) / 2.0,
            escaped(&self.y.title)
        );
        for (index, series) in self.series.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            series.draw(&mut svg, colour, floor, &across, &up);
            let row = TOP + 14.0 * index as f64 + 12.0;
            let _ = writeln!(
                svg,
                "<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\
                 <text x=\"{}\" y=\"{row}\">{}</text>",
                LEFT + 8.0,
                row - 9.0,
                LEFT + 22.0,
                escaped(&series.name)
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

impl Series {
    fn draw(
        &self,
        svg: &mut String,
        colour: &str,
        floor: f64,
        across: &dyn Fn(f64) -> f64,
        up: &dyn Fn(f64) -> f64,
    ) {
        if self.mark == Mark::Line && self.points.len() > 1 {
            svg.push_str("<polyline points=\"");
            for &(x, y) in &self.points {
                let _ = write!(svg, "{:.1},{:.1} ", across(x), up(y));
            }
            let _ = writeln!(
                svg,
                "\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"
            );
        }
        for &(x, y) in &self.points {
            let (left, top) = (across(x), up(y));
            let name = escaped(&self.name);
            let title = format!("<title>{name}: {}, {}</title>", short(x), short(y));
            let _ = if self.mark == Mark::Bars {
                writeln!(
                    svg,
                    "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"3\" height=\"{:.1}\" \
                     fill=\"{colour}\">{title}</rect>",
                    left - 1.5,
                    (floor - top).max(0.0)
                )
            } else {
                writeln!(
                    svg,
                    "<circle cx=\"{left:.1}\" cy=\"{top:.1}\" r=\"2.5\" fill=\"{colour}\">{title}\
                     </circle>"
                )
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn staircase() -> Plot {
        Plot {
            title: "a < b".to_owned(),
            x: Axis {
                title: "footprint in bytes".to_owned(),
                scale: Scale::Binary,
            },
            y: Axis {
                title: "cycles".to_owned(),
                scale: Scale::Linear,
            },
            series: vec![Series {
                name: "through L1".to_owned(),
                mark: Mark::Line,
                points: vec![(1024.0, 40.0), (4096.0, 331.0)],
            }],
        }
    }

    #[test]
    fn every_point_has_a_mark_with_its_values() {
        let svg = staircase().svg();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("<title>through L1: 4K, 331</title>"), "{svg}");
        assert!(svg.contains("a &lt; b"), "{svg}");
        // 331 of an axis up to 350.
        assert!(
            svg.contains(&format!("cy=\"{:.1}\"", 388.0 - 331.0 / 350.0 * 352.0)),
            "{svg}"
        );
    }

    #[test]
    fn a_plot_without_points_is_drawn() {
        let mut plot = staircase();
        plot.series.clear();
        assert!(plot.svg().ends_with("</svg>\n"));
    }

    #[test]
    fn steps_are_even() {
        for (least, step) in [
            (0.7, 1.0),
            (1.0, 1.0),
            (3.3, 5.0),
            (33.1, 50.0),
            (66.0, 100.0),
        ] {
            assert!(
                (even_step(least) - step).abs() < 1e-9,
                "{least}: {}",
                even_step(least)
            );
        }
    }
}
