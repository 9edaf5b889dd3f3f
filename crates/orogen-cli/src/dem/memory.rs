//! How large a model may be: what the call allows, or what fits into the memory that is free.

use orogen::io::Limits;
use sysinfo::System;

/// Bytes that a tool takes for each sample at its peak, the model itself included: what surveyed models of 1 to 9 million samples
/// took, and about a third more, for models with more pits or lines.
fn bytes_per_sample(tool: &str) -> u64 {
    match tool {
        "sample" | "profile" | "intervisibility" => 6,
        "hillshade" | "viewshed" => 8,
        "slope" | "aspect" | "curvature" | "ruggedness" => 12,
        "cutfill" => 16,
        "fill" | "breach" | "basins" | "watershed" => 32,
        "contours" | "tin" | "flow" => 40,
        _ => 64,
    }
}

/// What may be read for a tool: so many samples, or as many as fit into free memory when the call does not say.
pub fn limits(tool: &str, max_samples: Option<u64>) -> Limits {
    let bytes = free_bytes();
    let by_memory = match bytes {
        Some(bytes) => Limits::of_memory(bytes, bytes_per_sample(tool)),
        None => Limits::default(),
    };
    match max_samples {
        Some(max_samples) => Limits {
            max_samples,
            max_bytes_file: u64::MAX,
            max_bytes_memory: u64::MAX,
            advice: "; raise this with --max-samples",
            ..by_memory
        },
        None => Limits {
            advice: ", as many as fit into free memory; allow more with --max-samples N",
            ..by_memory
        },
    }
}

/// Bytes of standard input that are taken in: half of the free memory, as the samples need room beside them.
pub fn most_stream_bytes() -> u64 {
    free_bytes().map_or(Limits::default().max_bytes_file, |bytes| bytes / 2)
}

/// Memory that can be had without taking it from others, within the bounds of a container; `None` where the system does not say.
fn free_bytes() -> Option<u64> {
    let mut system = System::new();
    system.refresh_memory();
    let free = system.available_memory();
    let bounded = system.cgroup_limits().map_or(free, |limits| free.min(limits.free_memory));
    Some(bounded).filter(|bytes| *bytes > 0)
}
