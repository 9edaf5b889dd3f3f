//! Things that stand on the ground as a table: one line each, comma-separated, with a head.
//!
//! ```text
//! id,x,y,z,species,yaw_deg,scale,tilt_deg,tilt_to_deg,age,health,tag
//! 00c0ffee00c0ffee,1250.5,-38.125,211.25,oak,90,1.25,3,270,0.5,1,0
//! ```
//!
//! A line takes about 70 bytes, a third of what GeoJSON does. Ids are hexadecimal, places those of the file's coordinate
//! system, `z` is empty where there is no ground; age and health are from 0 to 1.

use std::fmt::Write as _;
use std::io::{self, Write};

use orogen_core::edits::Id;
use orogen_core::instances::Instances;

/// The first line.
pub const HEAD: &str = "id,x,y,z,species,yaw_deg,scale,tilt_deg,tilt_to_deg,age,health,tag";

/// Bytes that are gathered before they are written.
const PIECE: usize = 1 << 16;

/// Writes all things. `place` turns metres of the world into coordinates, which are written with so many digits after the point.
///
/// # Errors
/// When `out` takes no more.
pub fn write(
    things: &Instances,
    place: impl Fn([f64; 2]) -> [f64; 2],
    digits: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let species: Vec<String> = things.species().iter().map(|name| quoted(name)).collect();
    let mut text = format!("{HEAD}\n");
    for (at, thing) in things.iter() {
        let [x, y] = place(at).map(|value| short(value, digits));
        let z = if thing.z_m.is_finite() { short(thing.z_m.into(), 3) } else { String::new() };
        let name = species.get(usize::from(thing.species)).map_or("", String::as_str);
        let share = |byte: u8| short(f64::from(byte) / 255.0, 3);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{},{x},{y},{z},{name},{},{},{},{},{},{},{}",
            Id(thing.id),
            short(f64::from(thing.yaw) * 360.0 / 65536.0, 2),
            short(f64::from(thing.scale) / 4096.0, 4),
            thing.tilt_deg,
            short(f64::from(thing.tilt_to) * 360.0 / 256.0, 1),
            share(thing.age),
            share(thing.health),
            thing.tag,
        );
        if text.len() >= PIECE {
            out.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    out.write_all(text.as_bytes())
}

/// A number with at most so many digits after the point, and no zeros at the end.
fn short(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    String::from(if text == "-0" { "0" } else { text })
}

/// A name as a field of a table.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use orogen_core::instances::Instance;

    use super::*;

    fn things(count: u64) -> Instances {
        let one = |i: u64| {
            let thing = Instance {
                id: u64::MAX - i,
                z_m: if i == 0 { f32::NAN } else { 211.25 },
                species: (i % 2) as u16,
                yaw: 16384,
                scale: 5120,
                tilt_deg: 3,
                tilt_to: 192,
                age: 127,
                health: 255,
                ..Instance::default()
            };
            ([1250.5 + i as f64, -0.0001], thing)
        };
        Instances::new(vec![String::from("oak"), String::from("rock, \"flat\"")], (0..count).map(one))
            .unwrap()
    }

    #[test]
    fn a_line_says_what_a_thing_is() {
        let mut out = Vec::new();
        write(&things(2), |place| place, 3, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], HEAD);
        assert_eq!(
            lines[1],
            "fffffffffffffffe,1251.5,0,211.25,\"rock, \"\"flat\"\"\",90,1.25,3,270,0.498,1,0"
        );
        assert_eq!(lines[2], "ffffffffffffffff,1250.5,0,,oak,90,1.25,3,270,0.498,1,0");
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn many_things_take_few_bytes_each() {
        let (mut out, many) = (Vec::new(), things(5000));
        write(&many, |place| place, 3, &mut out).unwrap();
        assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 5001);
        assert!(out.len() / many.len() < 80, "{} bytes each", out.len() / many.len());
    }
}
