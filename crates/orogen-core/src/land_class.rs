//! What an image from above shows: seven kinds of ground.

/// A kind of ground; the number is what the `satellite` layer holds, where 0 says that nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum LandClass {
    Sea = 1,
    Sand,
    Rock,
    Bare,
    Grass,
    Shrub,
    Forest,
}

impl LandClass {
    /// Every class, in the order of its number.
    pub const ALL: [Self; 7] =
        [Self::Sea, Self::Sand, Self::Rock, Self::Bare, Self::Grass, Self::Shrub, Self::Forest];

    /// Number in the `satellite` layer.
    #[must_use]
    pub fn id(self) -> u8 {
        self as u8
    }

    /// The class of a number; `None` for 0 and above 7.
    #[must_use]
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.get(usize::from(id).checked_sub(1)?).copied()
    }

    /// Its name in recipes.
    #[must_use]
    pub fn name(self) -> &'static str {
        ["sea", "sand", "rock", "bare", "grass", "shrub", "forest"][self as usize - 1]
    }

    /// Its colour on maps, in sRGB.
    #[must_use]
    pub fn color(self) -> [u8; 3] {
        [
            [67, 122, 163],
            [228, 214, 176],
            [160, 158, 154],
            [181, 150, 116],
            [160, 186, 104],
            [134, 144, 88],
            [62, 104, 66],
        ][self as usize - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_classes_match() {
        for class in LandClass::ALL {
            assert_eq!(LandClass::from_id(class.id()), Some(class));
        }
        assert_eq!((LandClass::from_id(0), LandClass::from_id(8)), (None, None));
    }
}
