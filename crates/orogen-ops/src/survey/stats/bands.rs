//! The bands that real land falls into.

use serde::Serialize;

use super::Stats;

/// A statistic that distinguishes real land from noise, and where it lies on real land.
#[derive(Clone, Copy, Debug)]
pub struct Band {
    /// Its name, as the fields of [`Stats`] that lead to it.
    pub statistic: &'static str,
    /// Least on real land; 0 where land cannot have too little.
    pub low: f64,
    /// Most on real land.
    pub high: f64,
    /// Takes it out of a report.
    pub of: fn(&Stats) -> Option<f64>,
}

/// As measured on 17 surveyed models at cells of 60 to 100 m: mountains, uplands, islands and coasts of all climates.
pub const BANDS: [Band; 7] = [
    // No least: surveyed models have 0.4 % and more by their errors, while land whose rivers were carved or whose hollows
    // were filled has none and is none the worse.
    Band {
        statistic: "drainage.depression_share",
        low: 0.0,
        high: 0.049,
        of: |s| Some(s.drainage.depression_share),
    },
    Band { statistic: "drainage.hack", low: 0.46, high: 0.55, of: |s| s.drainage.hack },
    Band { statistic: "drainage.concavity", low: 0.24, high: 0.69, of: |s| s.drainage.concavity },
    Band { statistic: "structure.hurst", low: 0.55, high: 0.79, of: |s| s.structure.map(|f| f.hurst) },
    Band { statistic: "spectrum.beta", low: 3.0, high: 4.75, of: |s| s.spectrum.map(|f| f.beta) },
    Band { statistic: "hypsometric_integral", low: 0.23, high: 0.48, of: |s| Some(s.hypsometric_integral) },
    Band {
        statistic: "drainage.bifurcation_ratio",
        low: 3.3,
        high: 4.9,
        of: |s| s.drainage.bifurcation_ratio,
    },
];

/// Where a statistic lies beside real land.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As on real land.
    Inside,
    /// Less than on any.
    Below,
    /// More than on any.
    Above,
    /// The land is too small to tell.
    Unknown,
}

impl Verdict {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Inside => "inside",
            Self::Below => "below",
            Self::Above => "above",
            Self::Unknown => "unknown",
        }
    }
}

/// A statistic beside its band.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Its name.
    pub statistic: &'static str,
    /// What was measured.
    pub value: Option<f64>,
    /// Least on real land; 0 where land cannot have too little.
    pub low: f64,
    /// Most on real land.
    pub high: f64,
    /// How the two compare.
    pub verdict: Verdict,
}

/// Every statistic that has a band.
#[must_use]
pub fn verdicts(stats: &Stats) -> Vec<Finding> {
    BANDS
        .iter()
        .map(|band| {
            let value = (band.of)(stats).filter(|value| value.is_finite());
            let verdict = match value {
                None => Verdict::Unknown,
                Some(value) if value < band.low => Verdict::Below,
                Some(value) if value > band.high => Verdict::Above,
                Some(_) => Verdict::Inside,
            };
            Finding { statistic: band.statistic, value, low: band.low, high: band.high, verdict }
        })
        .collect()
}
