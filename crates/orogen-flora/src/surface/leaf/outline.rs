//! Outlines of leaves: a few numbers each, and how leaves stand on a twig.

use serde::{Deserialize, Serialize};

macro_rules! outlines {
    ($($(#[doc = $about:literal])* $variant:ident $name:literal;)*) => {
        /// What the leaves of a species look like.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Outline {
            $($(#[doc = $about])* $variant,)*
        }

        impl Outline {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name, as in files of species.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

outlines! {
    #[doc = "A plain oval."] Oval "oval";
    #[doc = "Oval with a wavy rim and straight veins, in two rows."] Beech "beech";
    #[doc = "A rhombus with teeth on a thin stalk."] Birch "birch";
    #[doc = "Broad, round, pointed, with teeth: hazel, lime."] Hazel "hazel";
    #[doc = "A broad triangle on a long stalk: poplar."] Poplar "poplar";
    #[doc = "Round lobes: pedunculate oak."] Oak "oak";
    #[doc = "Pointed lobes: black and red oak."] PointedOak "pointed_oak";
    #[doc = "A hand of five toothed lobes."] Maple "maple";
    #[doc = "A hand of seven leaflets: kapok, horse chestnut."] Hand "hand";
    #[doc = "Long and narrow: willow."] Willow "willow";
    #[doc = "Narrow and leathery, silver below: olive."] Olive "olive";
    #[doc = "Leathery ovals, some with spiny rims: holm oak."] Holm "holm";
    #[doc = "Glossy, widest above the middle: laurel, strawberry tree, tupelo."] Laurel "laurel";
    #[doc = "Twice feathered, with tiny leaflets: acacia."] Feather "feather";
    #[doc = "Pairs of needles on a shoot: pines."] Pine "pine";
    #[doc = "Long soft needles: stone pine, Aleppo pine."] LongPine "long_pine";
    #[doc = "Rosettes of soft needles along a twig: larch."] Larch "larch";
    #[doc = "A flat spray of shoots with short needles: spruce, fir."] Spruce "spruce";
    #[doc = "Branched cords of tiny scales: cypress."] Scales "scales";
    #[doc = "Short sharp needles all around: juniper."] Juniper "juniper";
    #[doc = "Shoots of tiny leaves with bells: heather."] Heath "heath";
    #[doc = "A long blade with veins along it: grass, palms' leaflets, yucca."] Blade "blade";
    #[doc = "A frond feathered twice: ferns."] Fern "fern";
    #[doc = "Pairs of sharply toothed leaves: nettle, hemp agrimony."] Nettle "nettle";
    #[doc = "Leaves of three leaflets: clover, melilot."] Clover "clover";
    #[doc = "A long leaf with lobes that point back: lettuce, dandelion."] Lettuce "lettuce";
    #[doc = "A loose ear of grass."] Panicle "panicle";
    #[doc = "White rays around a yellow disk."] Daisy "daisy";
    #[doc = "Four broad petals around a dark middle."] Poppy "poppy";
    #[doc = "An umbrella of tiny flowers."] Umbel "umbel";
    #[doc = "A dense cluster of small flowers: hemp agrimony, melilot."] Plume "plume";
}

impl Outline {
    /// The usual one of a form, as species without an outline have it.
    #[must_use]
    pub fn of_form(form: &str) -> Self {
        match form {
            "lobed" => Self::Oak,
            "palmate" => Self::Maple,
            "lance" => Self::Willow,
            "pinnate" => Self::Feather,
            "tuft" => Self::Pine,
            "spray" => Self::Spruce,
            "blade" | "spine" => Self::Blade,
            "frond" => Self::Fern,
            other => Self::ALL.iter().copied().find(|outline| outline.name() == other).unwrap_or(Self::Oval),
        }
    }
}

/// The outline and the veins of a blade; lengths in its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Form {
    /// Greatest width.
    pub width: f32,
    /// Where that is, from the foot.
    pub widest: f32,
    /// How it narrows to its foot: 0.5 round, 1 straight, 0.2 cut off.
    pub base: f32,
    /// The same to its tip.
    pub tip: f32,
    /// Lobes on each side.
    pub lobes: f32,
    /// How deep they are, as a share of the width.
    pub lobe_depth: f32,
    /// 0 round lobes, 1 pointed ones.
    pub pointed: f32,
    /// Teeth on each side.
    pub teeth: f32,
    /// How long they are, as a share of the width.
    pub tooth: f32,
    /// Veins on each side; 0 for veins along the blade.
    pub veins: f32,
    /// How far veins and lobes lean to the tip: rise by distance from the midrib.
    pub lean: f32,
}

impl Form {
    pub const PLAIN: Self = Self {
        width: 0.5,
        widest: 0.45,
        base: 0.6,
        tip: 0.8,
        lobes: 0.0,
        lobe_depth: 0.0,
        pointed: 0.0,
        teeth: 0.0,
        tooth: 0.0,
        veins: 7.0,
        lean: 0.8,
    };

    /// Half the width at a place along the blade, without lobes and teeth, as a share of its greatest.
    pub fn plain(&self, along: f32) -> f32 {
        let power = |x: f32, p: f32| orogen_core::math::pow(f64::from(x.max(0.0)), f64::from(p)) as f32;
        if along < self.widest {
            let part = 1.0 - along / self.widest;
            power(1.0 - part * part, self.base)
        } else {
            let part = (along - self.widest) / (1.0 - self.widest);
            power(1.0 - part * part, self.tip)
        }
    }

    /// Half the width at a place along the blade, beside the midrib by `aside`, where it is `plain` without lobes.
    pub fn half_width(&self, plain: f32, along: f32, aside: f32) -> f32 {
        let mut half = 0.5 * self.width * plain;
        // Lobes and teeth follow the veins.
        let at = along - self.lean * aside.abs();
        if self.lobes > 0.0 {
            let wave = (at * self.lobes + 0.35).rem_euclid(1.0);
            let tooth = 1.0 - (2.0 * wave - 1.0).abs();
            let round = (1.0 - (1.0 - tooth) * (1.0 - tooth)).max(0.0);
            let bump = round + (tooth * tooth - round) * self.pointed;
            half *= 1.0 - self.lobe_depth * (1.0 - bump);
        }
        if self.teeth > 0.0 {
            let part = (at * self.teeth).rem_euclid(1.0);
            half -= self.tooth * self.width * part * plain;
        }
        half
    }
}

/// How leaves stand on the card of a twig.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stand {
    /// To both sides of a twig, one at its end.
    Twig {
        /// Opposite each other, or in turn.
        opposite: bool,
        /// Angle from the twig.
        angle_deg: f32,
        /// Stalks, as a share of the blade's length.
        stalk: f32,
    },
    /// Several blades from one point, each at an angle and of a length: one hand.
    Hand {
        /// Angle and length of each.
        fingers: &'static [(f32, f32)],
        /// Stalk of the hand.
        stalk: f32,
    },
    /// Needles around a shoot.
    Needles {
        /// Angles from the shoot, least and most.
        angles_deg: [f32; 2],
        /// Needles to a length of one needle.
        density: f32,
    },
    /// Rosettes of needles along a twig.
    Rosettes,
    /// Side shoots with needles in one plane.
    Comb,
    /// Cords of scales.
    Cords,
    /// Shoots with bells.
    Bells,
    /// One blade from end to end.
    Single,
    /// Feathers of leaflets.
    Feathers,
    /// A frond of leaflets with leaflets.
    Frond,
    /// An ear of grass.
    Ear,
    /// Petals around a disk, at the end of the card.
    Petals {
        /// How many.
        count: u32,
        /// Radius of the disk, as a share of the flower's.
        disk: f32,
    },
    /// Stalks that part, each with small flowers.
    Flowers {
        /// Whether they end at one height.
        flat: bool,
    },
}

/// What an outline stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    /// Length of one blade or needle, in metres.
    pub blade_m: f32,
    pub form: Form,
    pub stand: Stand,
    /// 0 matt, 1 like lacquer.
    pub gloss: f32,
}

impl Outline {
    pub(super) fn plan(self) -> Plan {
        let twig = |angle_deg, stalk| Stand::Twig { opposite: false, angle_deg, stalk };
        let opposite = |angle_deg, stalk| Stand::Twig { opposite: true, angle_deg, stalk };
        let plain = Form::PLAIN;
        let plan = |blade_m, form, stand, gloss| Plan { blade_m, form, stand, gloss };
        match self {
            Self::Oval => plan(0.07, plain, twig(50.0, 0.12), 0.3),
            Self::Beech => {
                let form = Form {
                    width: 0.62,
                    widest: 0.45,
                    tip: 0.75,
                    teeth: 8.0,
                    tooth: 0.025,
                    veins: 8.0,
                    ..plain
                };
                plan(0.085, form, twig(52.0, 0.1), 0.4)
            }
            Self::Birch => {
                let form = Form {
                    width: 0.72,
                    widest: 0.3,
                    base: 0.5,
                    tip: 1.15,
                    teeth: 14.0,
                    tooth: 0.07,
                    veins: 6.0,
                    ..plain
                };
                plan(0.055, form, twig(55.0, 0.32), 0.3)
            }
            Self::Hazel => {
                let form = Form {
                    width: 0.82,
                    widest: 0.5,
                    base: 0.38,
                    tip: 0.62,
                    teeth: 15.0,
                    tooth: 0.05,
                    veins: 7.0,
                    ..plain
                };
                plan(0.09, form, twig(52.0, 0.14), 0.15)
            }
            Self::Poplar => {
                let form = Form {
                    width: 0.9,
                    widest: 0.22,
                    base: 0.3,
                    tip: 1.05,
                    teeth: 17.0,
                    tooth: 0.035,
                    veins: 6.0,
                    ..plain
                };
                plan(0.075, form, twig(58.0, 0.5), 0.45)
            }
            Self::Oak => {
                let form = Form {
                    width: 0.62,
                    widest: 0.62,
                    base: 0.95,
                    tip: 0.42,
                    lobes: 4.6,
                    lobe_depth: 0.52,
                    veins: 4.6,
                    lean: 0.55,
                    ..plain
                };
                plan(0.115, form, twig(48.0, 0.04), 0.3)
            }
            Self::PointedOak => {
                let form = Form {
                    width: 0.78,
                    widest: 0.5,
                    base: 0.6,
                    tip: 0.62,
                    lobes: 3.6,
                    lobe_depth: 0.7,
                    pointed: 1.0,
                    veins: 3.6,
                    lean: 0.8,
                    ..plain
                };
                plan(0.15, form, twig(48.0, 0.22), 0.5)
            }
            Self::Maple => {
                let form = Form {
                    width: 0.64,
                    widest: 0.52,
                    base: 0.7,
                    tip: 1.0,
                    teeth: 3.2,
                    tooth: 0.16,
                    veins: 3.0,
                    lean: 0.5,
                    ..plain
                };
                const FINGERS: &[(f32, f32)] =
                    &[(-102.0, 0.58), (102.0, 0.58), (-49.0, 0.88), (49.0, 0.88), (0.0, 1.0)];
                plan(0.075, form, Stand::Hand { fingers: FINGERS, stalk: 0.75 }, 0.3)
            }
            Self::Hand => {
                let form =
                    Form { width: 0.27, widest: 0.58, base: 1.0, tip: 0.8, veins: 13.0, lean: 0.5, ..plain };
                const FINGERS: &[(f32, f32)] = &[
                    (-138.0, 0.62),
                    (138.0, 0.62),
                    (-92.0, 0.82),
                    (92.0, 0.82),
                    (-46.0, 0.95),
                    (46.0, 0.95),
                    (0.0, 1.0),
                ];
                plan(0.15, form, Stand::Hand { fingers: FINGERS, stalk: 0.9 }, 0.35)
            }
            Self::Willow => {
                let form = Form {
                    width: 0.14,
                    widest: 0.38,
                    base: 0.8,
                    tip: 1.0,
                    teeth: 26.0,
                    tooth: 0.04,
                    veins: 16.0,
                    ..plain
                };
                plan(0.1, form, twig(26.0, 0.06), 0.35)
            }
            Self::Olive => {
                let form = Form { width: 0.22, widest: 0.5, base: 0.8, tip: 0.7, veins: 0.0, ..plain };
                plan(0.058, form, opposite(38.0, 0.06), 0.4)
            }
            Self::Holm => {
                let form = Form {
                    width: 0.44,
                    widest: 0.45,
                    base: 0.55,
                    tip: 0.72,
                    teeth: 6.0,
                    tooth: 0.07,
                    veins: 8.0,
                    ..plain
                };
                plan(0.052, form, twig(50.0, 0.14), 0.55)
            }
            Self::Laurel => {
                let form = Form {
                    width: 0.42,
                    widest: 0.56,
                    base: 0.9,
                    tip: 0.62,
                    teeth: 24.0,
                    tooth: 0.02,
                    veins: 9.0,
                    ..plain
                };
                plan(0.085, form, twig(46.0, 0.12), 0.75)
            }
            Self::Feather => {
                let form = Form { width: 0.34, widest: 0.55, base: 0.5, tip: 0.5, veins: 0.0, ..plain };
                plan(0.006, form, Stand::Feathers, 0.2)
            }
            Self::Pine => plan(0.055, plain, Stand::Needles { angles_deg: [22.0, 58.0], density: 85.0 }, 0.4),
            Self::LongPine => {
                plan(0.095, plain, Stand::Needles { angles_deg: [12.0, 52.0], density: 110.0 }, 0.4)
            }
            Self::Larch => plan(0.026, plain, Stand::Rosettes, 0.2),
            Self::Spruce => plan(0.018, plain, Stand::Comb, 0.4),
            Self::Scales => plan(0.004, plain, Stand::Cords, 0.2),
            Self::Juniper => {
                plan(0.012, plain, Stand::Needles { angles_deg: [35.0, 75.0], density: 44.0 }, 0.3)
            }
            Self::Heath => plan(0.003, plain, Stand::Bells, 0.2),
            Self::Blade => {
                let form = Form { width: 0.1, widest: 0.3, base: 0.35, tip: 0.9, veins: 0.0, ..plain };
                plan(1.0, form, Stand::Single, 0.35)
            }
            Self::Fern => {
                let form = Form { width: 0.42, widest: 0.25, base: 0.25, tip: 0.7, veins: 0.0, ..plain };
                plan(0.02, form, Stand::Frond, 0.2)
            }
            Self::Nettle => {
                let form = Form {
                    width: 0.52,
                    widest: 0.26,
                    base: 0.4,
                    tip: 1.05,
                    teeth: 12.0,
                    tooth: 0.11,
                    veins: 6.0,
                    ..plain
                };
                plan(0.075, form, opposite(58.0, 0.25), 0.1)
            }
            Self::Clover => {
                let form = Form {
                    width: 0.5,
                    widest: 0.6,
                    base: 0.75,
                    tip: 0.42,
                    teeth: 12.0,
                    tooth: 0.05,
                    veins: 8.0,
                    ..plain
                };
                const FINGERS: &[(f32, f32)] = &[(-72.0, 0.95), (72.0, 0.95), (0.0, 1.0)];
                plan(0.022, form, Stand::Hand { fingers: FINGERS, stalk: 0.8 }, 0.15)
            }
            Self::Lettuce => {
                let form = Form {
                    width: 0.34,
                    widest: 0.62,
                    base: 0.5,
                    tip: 0.6,
                    lobes: 4.0,
                    lobe_depth: 0.66,
                    pointed: 0.8,
                    teeth: 22.0,
                    tooth: 0.04,
                    veins: 5.0,
                    lean: -0.35,
                };
                plan(0.16, form, Stand::Single, 0.15)
            }
            Self::Panicle => plan(0.006, plain, Stand::Ear, 0.2),
            Self::Daisy => {
                let form = Form { width: 0.24, widest: 0.65, base: 0.8, tip: 0.35, veins: 0.0, ..plain };
                plan(0.02, form, Stand::Petals { count: 21, disk: 0.34 }, 0.1)
            }
            Self::Poppy => {
                let form = Form { width: 1.25, widest: 0.68, base: 0.65, tip: 0.4, veins: 0.0, ..plain };
                plan(0.035, form, Stand::Petals { count: 4, disk: 0.2 }, 0.25)
            }
            Self::Umbel => plan(0.004, plain, Stand::Flowers { flat: true }, 0.1),
            Self::Plume => plan(0.006, plain, Stand::Flowers { flat: false }, 0.1),
        }
    }
}
