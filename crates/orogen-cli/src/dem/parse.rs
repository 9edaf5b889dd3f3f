//! Values of options.

/// A number within bounds.
pub fn number(least: f64, most: f64) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.trim().parse().ok().filter(|n| (least..=most).contains(n));
        number.ok_or_else(|| format!("found {text:?}, expected a number from {least} to {most}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_to_their_bounds() {
        assert_eq!(number(0.0, 10.0)("2.5"), Ok(2.5));
        for wrong in ["", "nan", "inf", "-1", "10.1", "2,5", "a"] {
            assert!(number(0.0, 10.0)(wrong).is_err(), "{wrong}");
        }
    }
}
