//! The shaders: one `.wgsl` file for each file of the operators whose twin it is, put together pass by pass.

/// The shaders, by name.
pub(crate) const SHADERS: [(&str, &[&str]); 5] = [
    ("noise", &[TILE, include_str!("basis.wgsl"), include_str!("fractal.wgsl"), include_str!("field.wgsl")]),
    (
        "features",
        &[
            TILE,
            include_str!("split.wgsl"),
            include_str!("octaves.wgsl"),
            include_str!("round.wgsl"),
            include_str!("spline.wgsl"),
            include_str!("lines.wgsl"),
            include_str!("area.wgsl"),
            include_str!("features.wgsl"),
        ],
    ),
    ("change", &[TILE, COMBINE, include_str!("change.wgsl")]),
    ("pair", &[TILE, COMBINE, include_str!("pair.wgsl")]),
    ("normals", &[TILE, include_str!("normals.wgsl")]),
];

const TILE: &str = include_str!("tile.wgsl");
const COMBINE: &str = include_str!("combine.wgsl");

/// The text of a shader.
pub(crate) fn source(name: &str) -> String {
    SHADERS.iter().find(|(known, _)| *known == name).map_or_else(String::new, |(_, parts)| parts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shader_is_valid_without_a_device() {
        for (name, _) in SHADERS {
            let text = source(name);
            let module = naga::front::wgsl::parse_str(&text)
                .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&text)));
            let mut validator = naga::valid::Validator::new(
                naga::valid::ValidationFlags::all(),
                naga::valid::Capabilities::empty(),
            );
            validator.validate(&module).unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&text)));
        }
    }

    #[test]
    fn no_shader_asks_for_more_than_a_browser_with_webgl2_has() {
        for (name, _) in SHADERS {
            let text = source(name);
            for word in ["@compute", "var<storage", "texture_storage", "enable "] {
                assert!(!text.contains(word), "{name}: {word}");
            }
        }
    }
}
