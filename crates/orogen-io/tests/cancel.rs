//! Every writer stops soon after the work is cancelled.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test may stop")]

use std::io::{self, Cursor, Seek, SeekFrom, Write};

use orogen_core::testkit::hills;
use orogen_core::vector::{Shape, VectorLayer};
use orogen_core::{Cancel, Frame, OpError, Raster, Terrain, layer};
use orogen_io::geojson::System;
use orogen_io::geotiff::{Compression, Place};
use orogen_io::mesh::Surface;
use orogen_io::{About, Watched, ascii_grid, exr, geojson, geotiff, glb, obj};

const ABOUT: About<'_> = About { layer: "height", unit: "m", seed: "7" };

/// Throws the switch once so many bytes are written.
struct Trip<'a> {
    out: Cursor<Vec<u8>>,
    after: usize,
    cancel: &'a Cancel,
}

impl Write for Trip<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        if self.out.get_ref().len() > self.after {
            self.cancel.cancel();
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Trip<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}

/// A writer, by name.
type Case<'a> = (&'static str, Box<dyn Fn(&mut Watched<'_, Trip<'_>>) -> io::Result<()> + 'a>);

#[test]
fn every_writer_stops_soon_after_the_work_is_cancelled() {
    const SIDE: usize = 601;
    let frame = Frame::square(6000.0, SIDE).unwrap();
    let height = hills(SIDE, 10.0);
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, height.clone());
    let surface = Surface::of(&terrain).unwrap();
    let place = Place::local([0.0, 0.0], [10.0, 10.0]);
    let bytes = Raster::from_fn(SIDE, SIDE, |c, r| (c * r) as u8);
    let mut lines = VectorLayer::new(Shape::Lines);
    for y in 0..2000 {
        lines.push((0..600).map(|x| [f64::from(x) * 1.37, f64::from(y) * 2.11, f64::from(x % 7)]));
    }
    let tiff = |compression| {
        let (height, place) = (&height, &place);
        move |out: &mut Watched<'_, Trip<'_>>| {
            geotiff::write_f32_at(out, height, height.range(), place, &ABOUT, compression)
        }
    };
    let cases: Vec<Case<'_>> = vec![
        ("glb", Box::new(|out| glb::write(&surface, "terrain", "7", out))),
        ("obj", Box::new(|out| obj::write(&surface, "terrain", "7", out))),
        ("asc", Box::new(|out| ascii_grid::write(&height, &frame, out))),
        ("geojson", Box::new(|out| geojson::write_in(&lines, "lines", &System::local(), out))),
        ("exr", Box::new(|out| exr::write([&height; 3], 0.0, &ABOUT, out))),
        ("tif", Box::new(tiff(Compression::None))),
        ("packed tif", Box::new(tiff(Compression::Deflate))),
        (
            "byte tif",
            Box::new(|out| geotiff::write_whole_at(out, &bytes, &place, None, &ABOUT, Compression::Deflate)),
        ),
    ];
    for (name, write) in &cases {
        let run = |after: usize| {
            let cancel = Cancel::new();
            let trip = Trip { out: Cursor::new(Vec::new()), after, cancel: &cancel };
            let mut written = 0;
            let done = {
                let mut out = Watched::new(trip, &cancel);
                let done = write(&mut out);
                written += out.seek(SeekFrom::End(0)).unwrap();
                done
            };
            (done, written as usize)
        };
        let (whole, length) = run(usize::MAX);
        whole.unwrap_or_else(|e| panic!("{name}: {e}"));
        let (stopped, written) = run(length / 4);
        assert!(stopped.is_err(), "{name} went on to the end");
        assert!(written < length / 2 + (1 << 16), "{name}: {written} of {length} bytes were written");
    }
    let cancelled = Cancel::new();
    cancelled.cancel();
    let stopped = Surface::unless_cancelled(&terrain, &cancelled);
    assert_eq!(stopped.unwrap_err(), OpError::Cancelled);
    // The smaller copies come before the first byte: a switch that is thrown by then is heard too.
    let mut out = Cursor::new(Vec::new());
    let stopped = geotiff::write_f32_at(
        &mut Watched::new(&mut out, &cancelled),
        &height,
        height.range(),
        &place,
        &ABOUT,
        Compression::Deflate,
    );
    assert!(stopped.is_err() && out.get_ref().is_empty());
}
