//! What the numbers of a band mean: GDAL's scale, offset and unit, which it keeps as XML in a tag of its own.

use super::container::Directory;
use super::{FORMAT, tag};
use crate::error::FormatError;

/// Metres in a foot, international and of the United States survey.
pub(super) const FOOT_M: f64 = 0.3048;
pub(super) const SURVEY_FOOT_M: f64 = 1200.0 / 3937.0;

/// More items than any file has; a tree of them is built while they are read.
const MOST_ITEMS: u32 = 1 << 16;

/// How a height follows from a number: `(number * scale + offset)`, in a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Meaning {
    pub scale: f64,
    pub offset: f64,
    /// Metres in one unit of height, where the band names a unit of length.
    pub unit_m: Option<f64>,
}

impl Meaning {
    pub const PLAIN: Self = Self { scale: 1.0, offset: 0.0, unit_m: None };

    /// Reads what the file says of a band, counted from 0. Text that is not XML says nothing, as GDAL has it.
    pub fn read(directory: &Directory<'_>, band: usize) -> Result<Self, FormatError> {
        let mut meaning = Self::PLAIN;
        let Some(text) = directory.text(tag::GDAL_METADATA)? else { return Ok(meaning) };
        let options = roxmltree::ParsingOptions { nodes_limit: MOST_ITEMS, ..Default::default() };
        let Ok(tree) = roxmltree::Document::parse_with_options(&text, options) else { return Ok(meaning) };
        for item in tree.root_element().children().filter(|node| node.has_tag_name("Item")) {
            if item.attribute("sample").and_then(|n| n.parse().ok()) != Some(band) {
                continue;
            }
            let text = item.text().unwrap_or_default().trim();
            match item.attribute("role") {
                Some("scale") => meaning.scale = number("scale", text, |v| v != 0.0)?,
                Some("offset") => meaning.offset = number("offset", text, |_| true)?,
                Some("unittype") => meaning.unit_m = unit_m(text),
                _ => {}
            }
        }
        Ok(meaning)
    }
}

fn number(what: &str, text: &str, allowed: impl Fn(f64) -> bool) -> Result<f64, FormatError> {
    let number = text.parse().ok().filter(|v: &f64| v.is_finite() && allowed(*v));
    number.ok_or_else(|| FormatError::broken(FORMAT, format!("its {what} of heights is {text:?}")))
}

/// Metres in a unit, by the names that programs give it; `None` for one that is not a length.
fn unit_m(name: &str) -> Option<f64> {
    let name = name.to_ascii_lowercase().replace(['_', '-', '.'], " ");
    Some(match name.as_str() {
        "m" | "metre" | "metres" | "meter" | "meters" => 1.0,
        "ft" | "foot" | "feet" | "international foot" | "international feet" | "ft (international)" => FOOT_M,
        "us survey foot" | "us survey feet" | "us foot" | "us feet" | "us ft" | "ftus" | "ft us" | "usft"
        | "survey foot" | "survey feet" | "foot us" | "us survey ft" => SURVEY_FOOT_M,
        "km" | "kilometre" | "kilometer" | "kilometres" | "kilometers" => 1000.0,
        "dm" | "decimetre" | "decimeter" | "decimetres" | "decimeters" => 0.1,
        "cm" | "centimetre" | "centimeter" | "centimetres" | "centimeters" => 0.01,
        "mm" | "millimetre" | "millimeter" | "millimetres" | "millimeters" => 0.001,
        "fathom" | "fathoms" => 1.8288,
        "yd" | "yard" | "yards" => 0.9144,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::container::{Field, head_of_one};
    use super::super::source::Source;
    use super::*;

    fn meaning(xml: &str, band: usize) -> Result<Meaning, FormatError> {
        let file = head_of_one(
            vec![(256, Field::Words(vec![1])), (tag::GDAL_METADATA, Field::Text(xml.to_owned()))],
            &[],
        );
        Meaning::read(&Directory::read(Source::Memory(&file))?, band)
    }

    #[test]
    fn each_band_has_its_own_scale_offset_and_unit() {
        let xml = r#"<GDALMetadata>
            <Item name="OFFSET" sample="1" role="offset">-100</Item>
            <Item name="SCALE" sample="1" role="scale">0.5</Item>
            <Item name="UNITTYPE" sample="1" role="unittype">US survey foot</Item>
            <Item name="SCALE">7</Item>
        </GDALMetadata>"#;
        assert_eq!(meaning(xml, 0), Ok(Meaning::PLAIN));
        let second = Meaning { scale: 0.5, offset: -100.0, unit_m: Some(SURVEY_FOOT_M) };
        assert_eq!(meaning(xml, 1), Ok(second));
    }

    #[test]
    fn text_that_is_not_xml_says_nothing_and_a_wrong_number_is_named() {
        assert_eq!(meaning("<GDALMetadata><Item", 0), Ok(Meaning::PLAIN));
        for wrong in ["0", "nan", "", "much"] {
            let xml = format!(r#"<GDALMetadata><Item sample="0" role="scale">{wrong}</Item></GDALMetadata>"#);
            let message = meaning(&xml, 0).unwrap_err().to_string();
            assert!(message.contains("its scale of heights is"), "{message}");
        }
    }

    #[test]
    fn units_by_their_names() {
        for (name, wanted) in
            [("Metre", 1.0), ("FT", 0.3048), ("us-ft", SURVEY_FOOT_M), ("ftUS", SURVEY_FOOT_M)]
        {
            assert_eq!(unit_m(name), Some(wanted), "{name}");
        }
        assert_eq!(unit_m("kelvin"), None);
    }
}
