//! How much memory a plant takes while it is made.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use orogen_core::Seed;
use orogen_flora::{Detail, Mesh, grow, lod, mesh, species};
use orogen_memory::PerThread;

#[global_allocator]
static MEMORY: PerThread = PerThread;

fn bytes(mesh: &Mesh) -> usize {
    let corners = mesh.positions.len() * 12 + mesh.normals.len() * 12 + mesh.uvs.len() * 8;
    corners + mesh.sway.len() * 4 + mesh.branches.len() * 2 + mesh.tints.len() * 3 + mesh.indices.len() * 4
}

#[test]
fn a_tree_takes_three_times_its_mesh_at_most() {
    for name in ["black_tupelo", "birch", "oak"] {
        let species = species(name).unwrap().unwrap();
        let (peak, made) = PerThread::peak_of(|| {
            let plant = grow(&species, Seed(13)).unwrap();
            mesh(&species, &plant, &Detail::FULL)
        });
        let size = bytes(&made.bark) + bytes(&made.leaves);
        assert!(peak <= 3 * size, "{name}: {peak} bytes for {size}");
        let (peak, _) = PerThread::peak_of(|| lod(&species, &grow(&species, Seed(13)).unwrap(), 2));
        assert!(peak <= 3 * size, "{name}: {peak} bytes for a level of {size}");
    }
}
