//! How leaves and needles stand on the twig that a card shows.

use std::f32::consts::{PI, TAU};

use orogen_core::Seed;
use orogen_core::math::f32::{asin, cos, sin};
use orogen_core::math::lerp;
use orogen_texture::color::{Color, from_srgb, mix, scaled};
use orogen_texture::dice::Dice;

use super::leaf_light;
use super::outline::{Form, Plan, Stand};
use super::paint::{Blade, Rod, Sheet};
use crate::growth::Season;
use crate::species::Species;

/// Colours of a twig, in linear light.
pub(super) struct Tones {
    /// What the mean of the atlas is to be.
    pub mean: Color,
    leaf: Color,
    other: Color,
    twig: Color,
    /// How much leaves differ.
    vary: f32,
    /// Share of leaves that have the other colour.
    turned: f32,
    dry: f32,
    flowers: Color,
}

impl Tones {
    pub fn of(species: &Species, season: Season) -> Self {
        let light = |season| leaf_light(species, season);
        let (leaf, summer) = (light(season), light(Season::Summer));
        let turning = season == Season::Autumn && species.colors.autumn != species.colors.summer;
        // Leaves turn one by one: some are still green, some brown already.
        let other = if turning { mix(leaf, summer, 0.6) } else { mix(leaf, light(Season::Spring), 0.6) };
        Self {
            mean: leaf,
            leaf,
            other,
            twig: from_srgb(species.colors.twig),
            vary: if turning { 0.17 } else { 0.1 },
            turned: if turning { 0.3 } else { 0.22 },
            dry: if turning { 0.5 } else { 0.0 },
            flowers: leaf,
        }
    }

    fn one(&self, dice: &mut Dice) -> Color {
        let color =
            if dice.chance(self.turned) { mix(self.leaf, self.other, dice.unit()) } else { self.leaf };
        let warm = 1.0 + 0.5 * self.vary * dice.normal();
        let tone = (1.0 + self.vary * dice.normal()).clamp(0.55, 1.5);
        [color[0] * tone * warm, color[1] * tone, color[2] * tone / warm]
    }
}

/// Paints a twig of a species on a cell.
pub(super) fn paint(sheet: &mut Sheet, plan: &Plan, species: &Species, tones: &Tones, seed: Seed) {
    let mut dice = Dice::new(seed, "twig");
    // Length of a blade in lengths of the card.
    let share = (plan.blade_m / species.leaves.length_m as f32).clamp(0.004, 1.0);
    let mut twig = Twig { sheet, plan, tones, share, dice: &mut dice };
    match plan.stand {
        Stand::Twig { opposite, angle_deg, stalk } => twig.leaves(opposite, angle_deg, stalk),
        Stand::Hand { fingers, stalk } => twig.hands(fingers, stalk),
        Stand::Needles { angles_deg, density } => twig.needles(angles_deg, density),
        Stand::Rosettes => twig.rosettes(),
        Stand::Comb => twig.comb(),
        Stand::Cords => twig.cords(),
        Stand::Bells => twig.bells(),
        Stand::Single => twig.single(),
        Stand::Feathers => twig.feathers(),
        Stand::Frond => twig.frond(),
        Stand::Ear => twig.ear(),
        Stand::Petals { count, disk } => twig.petals(count, disk),
        Stand::Flowers { flat } => twig.flowers(flat),
    }
}

/// Share of a shoot of heather that bells cover.
const BELLS: f32 = 0.4;

struct Twig<'a> {
    sheet: &'a mut Sheet,
    plan: &'a Plan,
    tones: &'a Tones,
    share: f32,
    dice: &'a mut Dice,
}

/// A bent line from a foot: where it is and which way it goes at a share of it.
#[derive(Clone, Copy)]
struct Stalk {
    foot: [f32; 2],
    turn: f32,
    length: f32,
    bend: f32,
}

impl Stalk {
    fn at(&self, t: f32) -> [f32; 2] {
        let (along, aside) = (self.length * t, 0.5 * self.bend * self.length * t * t);
        let (s, c) = (sin(self.turn), cos(self.turn));
        [self.foot[0] + s * along + c * aside, self.foot[1] + c * along - s * aside]
    }

    fn turn_at(&self, t: f32) -> f32 {
        self.turn + self.bend * t
    }
}

impl Twig<'_> {
    fn stalk(&mut self, stalk: &Stalk, half: [f32; 2], colors: [Color; 2]) {
        const PIECES: usize = 8;
        for piece in 0..PIECES {
            let [t0, t1] = [piece, piece + 1].map(|k| k as f32 / PIECES as f32);
            self.sheet.rod(&Rod {
                ends: [stalk.at(t0), stalk.at(t1)],
                half: [t0, t1].map(|t| lerp(half[0], half[1], t)),
                colors: [t0, t1].map(|t| mix(colors[0], colors[1], t)),
                through: 0.05,
            });
        }
    }

    /// The steepest angle from straight up at which something of a length stays on the card.
    fn fitting(&self, foot: [f32; 2], length: f32, turn: f32) -> f32 {
        // A blade has half of its width beside its tip's way.
        let beside = 0.48 * self.plan.form.width * length;
        let room = (0.5 * self.sheet.width() - 0.015 - beside - foot[0] * turn.signum()).max(0.0);
        let most = if length > room { asin(room / length) } else { PI };
        turn.clamp(-most, most)
    }

    fn blade(&mut self, foot: [f32; 2], turn: f32, length: f32, form: Form) {
        let color = self.tones.one(self.dice);
        let dry = if self.dice.chance(0.6) { self.tones.dry * self.dice.unit() } else { 0.0 };
        let blade = Blade {
            foot,
            turn,
            length,
            form,
            color,
            roll: 0.3 * self.dice.normal(),
            veins: 0.75,
            through: 0.5,
            dry,
            dry_at: self.dice.between(0.0, TAU),
        };
        self.sheet.shade(&blade);
        self.sheet.blade(&blade);
    }

    /// A blade with its own stalk, kept on the card.
    fn leaf(&mut self, node: [f32; 2], turn: f32, length: f32, stalk: f32) {
        let long = length * (1.0 + stalk);
        let turn = self.fitting(node, long, turn);
        let room = (0.985 - node[1]) / cos(turn).max(0.05);
        let length = length * (room / long).clamp(0.3, 1.0);
        let stem = Stalk { foot: node, turn, length: length * stalk, bend: 0.15 * self.dice.normal() };
        let color = mix(self.tones.twig, scaled(self.tones.leaf, 1.3), 0.7);
        self.stalk(&stem, [0.012 * length, 0.010 * length], [color; 2]);
        let bend = if stalk > 0.0 { stem.bend } else { 0.0 };
        self.blade(stem.at(1.0), turn + bend, length, self.plan.form);
    }

    fn leaves(&mut self, opposite: bool, angle_deg: f32, stalk: f32) {
        // A twig shows more than one leaf, smaller ones if need be.
        let share = self.share.min(0.62 / (1.0 + 0.6 * stalk)).min(0.95 * self.sheet.width().max(0.3));
        let top = (0.97 - share * (1.0 + 0.5 * stalk)).max(0.05);
        let twig = Stalk { foot: [0.0, 0.0], turn: 0.0, length: top, bend: 0.12 * self.dice.normal() };
        let half = 0.011 * share.max(0.15);
        self.stalk(&twig, [1.6 * half, half], [self.tones.twig, mix(self.tones.twig, self.tones.leaf, 0.4)]);
        // As many as overlap a little.
        let step = (share * self.plan.form.width.max(0.2) * if opposite { 0.72 } else { 0.46 }).max(0.02);
        let nodes = ((top / step).round() as usize).clamp(1, 40);
        let mut side = if self.dice.chance(0.5) { 1.0 } else { -1.0 };
        for node in 0..nodes {
            let t = (node as f32 + 0.35 + 0.15 * self.dice.normal().clamp(-1.0, 1.0)) / nodes as f32;
            let t = t.clamp(0.02, 1.0);
            let sides: &[f32] = if opposite { &[-1.0, 1.0] } else { &[1.0] };
            for sign in sides {
                let angle = (angle_deg * lerp(1.15, 0.75, t)).to_radians() + 0.12 * self.dice.normal();
                let turn = twig.turn_at(t) + side * sign * angle;
                let length = share * lerp(0.78, 1.0, (1.4 * t).min(1.0)) * self.dice.between(0.84, 1.06);
                self.leaf(twig.at(t), turn, length, stalk);
            }
            side = -side;
        }
        let end = twig.turn_at(1.0) + 0.12 * self.dice.normal();
        let length = share * self.dice.between(0.92, 1.05);
        self.leaf(twig.at(1.0), end, length, 0.5 * stalk);
    }

    /// One hand, its palm at a place.
    fn hand(&mut self, palm: [f32; 2], turn: f32, length: f32, fingers: &'static [(f32, f32)]) {
        let color = self.tones.one(self.dice);
        let roll = 0.22 * self.dice.normal();
        let dry_at = self.dice.between(0.0, TAU);
        let dry = if self.dice.chance(0.6) { self.tones.dry * self.dice.unit() } else { 0.0 };
        let blades: Vec<Blade> = fingers
            .iter()
            .map(|&(angle_deg, share)| {
                let angle = angle_deg.to_radians() + 0.05 * self.dice.normal();
                Blade {
                    foot: palm,
                    turn: turn + angle,
                    length: length * share * self.dice.between(0.94, 1.04),
                    form: self.plan.form,
                    color: scaled(color, 1.0 + 0.04 * self.dice.normal()),
                    roll: roll * cos(angle) + 0.08 * self.dice.normal(),
                    veins: 0.8,
                    through: 0.5,
                    dry,
                    dry_at,
                }
            })
            .collect();
        blades.iter().for_each(|blade| self.sheet.shade(blade));
        blades.iter().for_each(|blade| self.sheet.blade(blade));
    }

    fn hands(&mut self, fingers: &'static [(f32, f32)], stalk: f32) {
        let green = mix(self.tones.twig, scaled(self.tones.leaf, 1.3), 0.6);
        let wide = 0.5 * self.sheet.width();
        // The fingers of the sides reach about as far as the middle one; so a hand needs twice its length of width.
        let length = self.share.min(0.62).min(0.98 * wide);
        let top = (0.97 - length).max(0.1);
        let twig = Stalk { foot: [0.0, 0.0], turn: 0.0, length: top, bend: 0.1 * self.dice.normal() };
        self.stalk(&twig, [0.011, 0.006], [self.tones.twig, green]);
        let pairs = ((top / (1.05 * length)).round() as usize).clamp(1, 6);
        for pair in 0..pairs {
            let t = (pair as f32 + 0.1) / pairs as f32 * 0.7;
            for side in [-1.0, 1.0] {
                let hand = length * self.dice.between(0.68, 0.9);
                let turn = twig.turn_at(t) + side * (0.95 + 0.16 * self.dice.normal());
                let reach = (wide - 0.92 * hand).max(0.02);
                let long = (hand * stalk * self.dice.between(0.7, 1.2)).min(reach / sin(turn).abs().max(0.2));
                let stem = Stalk { foot: twig.at(t), turn, length: long, bend: -0.3 * side };
                self.stalk(&stem, [0.007 * hand.max(0.3), 0.005 * hand.max(0.3)], [green; 2]);
                let [x, y] = stem.at(1.0);
                let palm = [x.clamp(0.8 * hand - wide, wide - 0.8 * hand), y.clamp(0.5 * hand, 0.985 - hand)];
                let turn = turn * 0.75 + 0.12 * self.dice.normal();
                self.hand(palm, turn, hand, fingers);
            }
        }
        let turn = twig.turn_at(1.0) + 0.08 * self.dice.normal();
        self.hand(twig.at(1.0), turn, length * 0.97, fingers);
    }

    fn needle(&mut self, foot: [f32; 2], axis: f32, angle: f32, around: f32, length: f32, half: f32) {
        // Seen from above: what points to the viewer looks shorter, and what points away lies in the shade.
        let (aside, along) = (sin(angle) * sin(around), cos(angle));
        let depth = sin(angle) * cos(around);
        let (s, c) = (sin(axis), cos(axis));
        let tip = [foot[0] + length * (s * along + c * aside), foot[1] + length * (c * along - s * aside)];
        let wide = 0.5 * self.sheet.width() - 0.004;
        if tip[0].abs() > wide || tip[1] > 0.992 {
            return;
        }
        let color = scaled(self.tones.one(self.dice), lerp(0.5, 1.12, 0.5 + 0.5 * depth));
        self.sheet.rod(&Rod {
            ends: [foot, tip],
            half: [half, 0.6 * half],
            colors: [scaled(color, 0.85), scaled(color, 1.1)],
            through: 0.3,
        });
    }

    /// Needles around a shoot, those behind first.
    fn shoot(&mut self, shoot: &Stalk, length: f32, angles_deg: [f32; 2], count: usize, half: f32) {
        let mut around: Vec<(f32, f32)> = (0..count)
            .map(|i| ((i as f32 + self.dice.unit()) / count as f32, self.dice.between(0.0, TAU)))
            .collect();
        around.sort_by(|a, b| cos(a.1).total_cmp(&cos(b.1)));
        let twig_after = count / 2;
        for (i, (t, around)) in around.into_iter().enumerate() {
            if i == twig_after {
                let bark = self.tones.twig;
                self.stalk(
                    shoot,
                    [1.5 * half + 0.004, half + 0.002],
                    [bark, mix(bark, self.tones.leaf, 0.3)],
                );
            }
            let angle = self.dice.between(angles_deg[0], angles_deg[1]).to_radians() * lerp(1.1, 0.45, t * t);
            let length = length * self.dice.between(0.8, 1.06) * lerp(1.0, 0.85, t);
            self.needle(shoot.at(t), shoot.turn_at(t), angle, around, length, half);
        }
    }

    fn needles(&mut self, angles_deg: [f32; 2], density: f32) {
        let share = self.share.min(0.6);
        let half = (0.0009 / self.plan.blade_m * share).max(self.sheet.least_half());
        let wide = 0.5 * self.sheet.width();
        let room = (wide - 0.75 * share).max(0.06);
        // Side shoots where the card has room for them.
        let side_shoots = if share < 0.34 { 2 + (0.5 / share) as usize } else { 2 };
        for shoot in 0..side_shoots {
            let side = if shoot % 2 == 0 { -1.0 } else { 1.0 };
            let t = 0.04 + 0.5 * shoot as f32 / side_shoots as f32;
            let turn = side * (0.62 + 0.12 * self.dice.normal());
            let most = room / sin(turn).abs().max(0.2);
            let long = (0.9 - t - share).max(0.08).min(most) * self.dice.between(0.8, 1.0);
            let stalk = Stalk { foot: [0.0, t], turn, length: long, bend: -0.4 * side };
            let count = (density * 1.15 * long / share) as usize;
            self.shoot(&stalk, share, angles_deg, count.clamp(30, 1500), half);
        }
        let length = (0.985 - share).max(0.1);
        let main = Stalk { foot: [0.0, 0.0], turn: 0.0, length, bend: 0.1 * self.dice.normal() };
        let count = (density * 1.6 * (length / share).max(1.0)) as usize;
        self.shoot(&main, share, angles_deg, count.clamp(60, 3000), half);
    }

    fn rosettes(&mut self) {
        let share = self.share.min(0.3);
        let half = (0.0005 / self.plan.blade_m * share).max(self.sheet.least_half());
        let wide = 0.5 * self.sheet.width();
        let mut twigs = vec![Stalk {
            foot: [0.0, 0.0],
            turn: 0.0,
            length: 0.985 - share,
            bend: 0.1 * self.dice.normal(),
        }];
        for side in [-1.0, 1.0, -1.0, 1.0] {
            let t = self.dice.between(0.05, 0.5);
            let turn = side * self.dice.between(0.5, 0.85);
            let long = ((wide - share) / sin(turn).abs().max(0.2)).min(0.9 - t - share).max(0.1);
            twigs.push(Stalk { foot: [0.0, t], turn, length: long, bend: -0.3 * side });
        }
        for twig in twigs {
            self.stalk(&twig, [0.010, 0.004], [self.tones.twig; 2]);
            let count = (twig.length / (0.62 * share)).round().max(2.0) as usize;
            for node in 0..=count {
                let t = node as f32 / count as f32;
                let side = if node % 2 == 0 { 1.0 } else { -1.0 };
                let knob = twig.at(t);
                let axis =
                    twig.turn_at(t) + side * if node == count { 0.0 } else { self.dice.between(0.7, 1.3) };
                let rays = 30;
                for ray in 0..rays {
                    let around = TAU * (ray as f32 + self.dice.unit()) / rays as f32;
                    let angle = self.dice.between(0.35, 1.35);
                    let length = share * self.dice.between(0.75, 1.05);
                    self.needle(knob, axis, angle, around, length, half);
                }
                self.sheet.disk(knob, 0.009, scaled(self.tones.twig, 0.8));
            }
        }
    }

    fn comb(&mut self) {
        let share = self.share.min(0.2);
        let half = (0.0009 / self.plan.blade_m * share).max(self.sheet.least_half());
        let wide = 0.5 * self.sheet.width() - 1.1 * share;
        let main = Stalk {
            foot: [0.0, 0.0],
            turn: 0.0,
            length: 0.985 - 0.8 * share,
            bend: 0.05 * self.dice.normal(),
        };
        let pairs = 10;
        let mut shoots = Vec::new();
        for pair in 0..pairs {
            for side in [-1.0, 1.0] {
                let t = (pair as f32 + 0.25 + 0.25 * self.dice.unit() + if side > 0.0 { 0.3 } else { 0.0 })
                    / pairs as f32;
                let turn = side * self.dice.between(0.75, 0.98);
                // The spray is a narrow triangle.
                let most = (wide / sin(turn).abs()).min((0.95 - t) * 0.62).max(0.05);
                let long = most * self.dice.between(0.8, 1.0);
                shoots.push(Stalk { foot: main.at(t), turn, length: long, bend: -0.35 * side });
            }
        }
        for shoot in shoots.into_iter().chain([main]) {
            let count = (shoot.length / share * 56.0) as usize;
            self.shoot(&shoot, share, [48.0, 78.0], count.clamp(24, 900), half);
        }
    }

    fn cords(&mut self) {
        let wide = 0.5 * self.sheet.width() - 0.02;
        let half = (0.0021 / self.plan.blade_m * self.share).clamp(0.0065, 0.02);
        let main = Stalk { foot: [0.0, 0.0], turn: 0.0, length: 0.96, bend: 0.08 * self.dice.normal() };
        let mut cords = Vec::new();
        let nodes = 26;
        for node in 0..nodes {
            let side = if node % 2 == 0 { 1.0 } else { -1.0 };
            let t = (node as f32 + self.dice.unit()) / nodes as f32 * 0.95;
            let turn = main.turn_at(t) + side * self.dice.between(0.45, 0.75);
            let most = (wide / sin(turn).abs().max(0.2)).min(0.62 * (1.02 - t));
            let branch = Stalk {
                foot: main.at(t),
                turn,
                length: most * self.dice.between(0.75, 1.0),
                bend: -0.35 * side,
            };
            let twigs = (branch.length / 0.022) as usize;
            for twig in 0..twigs {
                let sign = if twig % 2 == 0 { 1.0 } else { -1.0 };
                let t = (twig as f32 + 0.6) / twigs as f32;
                let turn = branch.turn_at(t) + sign * self.dice.between(0.5, 0.85);
                let length = 0.13 * (1.15 - t) * self.dice.between(0.6, 1.1);
                cords.push((
                    Stalk { foot: branch.at(t), turn, length, bend: -0.4 * sign },
                    0.75 * half,
                    self.dice.unit(),
                ));
            }
            cords.push((branch, half, self.dice.between(0.3, 1.0)));
        }
        // What lies deep first.
        cords.sort_by(|a, b| a.2.total_cmp(&b.2));
        cords.push((main, 1.2 * half, 0.6));
        for (cord, half, depth) in cords {
            let color = scaled(self.tones.one(self.dice), lerp(0.5, 1.1, depth));
            let scales = ((cord.length / (1.7 * half)) as usize).clamp(2, 260);
            for scale in 0..scales {
                let [t0, t1] = [scale as f32, scale as f32 + 1.1].map(|k| (k / scales as f32).min(1.0));
                let [foot, tip] = [cord.at(t0), cord.at(t1)];
                if tip[0].abs() > wide + 0.015 || tip[1] > 0.99 {
                    break;
                }
                let taper = lerp(1.0, 0.6, t0);
                self.sheet.rod(&Rod {
                    ends: [foot, tip],
                    half: [0.8 * half * taper, 1.08 * half * taper],
                    colors: [scaled(color, 0.78), scaled(color, 1.14)],
                    through: 0.15,
                });
            }
        }
    }

    fn bells(&mut self) {
        let wide = 0.5 * self.sheet.width();
        let green = from_srgb([86, 98, 58]);
        // Leaves stay green: what the species says is the mean of both, so the bells have what is left of it.
        let mean = self.tones.flowers;
        let flower = [0, 1, 2].map(|k| ((mean[k] - (1.0 - BELLS) * green[k]) / BELLS).max(0.25 * mean[k]));
        let mut shoots =
            vec![Stalk { foot: [0.0, 0.0], turn: 0.0, length: 0.95, bend: 0.1 * self.dice.normal() }];
        for side in [-1.0, 1.0, -1.0, 1.0, 1.0, -1.0] {
            let turn = side * self.dice.between(0.25, 0.6);
            let most = ((wide - 0.03) / sin(turn).abs()).min(0.75);
            let foot = [0.0, self.dice.between(0.0, 0.3)];
            shoots.push(Stalk { foot, turn, length: most * self.dice.between(0.7, 1.0), bend: -0.4 * side });
        }
        for shoot in shoots {
            self.stalk(&shoot, [0.010, 0.005], [self.tones.twig; 2]);
            let count = (shoot.length / 0.010) as usize;
            for i in 0..count {
                let t = (i as f32 + self.dice.unit()) / count as f32;
                let side = if i % 2 == 0 { 1.0 } else { -1.0 };
                let turn = shoot.turn_at(t) + side * self.dice.between(0.5, 1.2);
                let (half, length, color) = if t > 0.55 && self.dice.chance(0.65) {
                    (0.017, 0.026, scaled(flower, 1.0 + 0.15 * self.dice.normal()))
                } else {
                    (0.006, 0.04, scaled(green, 1.0 + 0.2 * self.dice.normal()))
                };
                let foot = shoot.at(t);
                let tip = [foot[0] + length * sin(turn), foot[1] + length * cos(turn)];
                if tip[0].abs() < wide - half && tip[1] < 0.97 {
                    let colors = [scaled(color, 0.8), color];
                    self.sheet.rod(&Rod {
                        ends: [foot, tip],
                        half: [0.7 * half, half],
                        colors,
                        through: 0.3,
                    });
                }
            }
        }
    }

    /// One blade that fills its card.
    fn single(&mut self) {
        let form = Form { width: 0.94 * self.sheet.width(), ..self.plan.form };
        let color = self.tones.one(self.dice);
        let blade = Blade {
            foot: [0.0, 0.0],
            turn: 0.0,
            length: self.dice.between(0.95, 0.99),
            form,
            color,
            roll: 0.15 * self.dice.normal(),
            veins: 0.6,
            through: 0.45,
            dry: self.tones.dry * self.dice.unit(),
            dry_at: self.dice.between(0.0, TAU),
        };
        self.sheet.blade(&blade);
    }

    fn feathers(&mut self) {
        let wide = 0.5 * self.sheet.width() - 0.015;
        let green = mix(self.tones.twig, scaled(self.tones.leaf, 1.2), 0.7);
        let main = Stalk { foot: [0.0, 0.0], turn: 0.0, length: 0.6, bend: 0.15 * self.dice.normal() };
        self.stalk(&main, [0.010, 0.006], [self.tones.twig; 2]);
        for leaf in 0..7 {
            let side = if leaf % 2 == 0 { -1.0 } else { 1.0 };
            let t = if leaf == 6 { 1.0 } else { (leaf as f32 + 0.4) / 6.5 };
            let turn = if leaf == 6 {
                main.turn_at(1.0)
            } else {
                main.turn_at(t) + side * self.dice.between(0.75, 1.1)
            };
            let most = (wide / sin(turn).abs().max(0.2)).min((0.985 - main.at(t)[1]) / cos(turn).max(0.2));
            let rachis = Stalk {
                foot: main.at(t),
                turn,
                length: most.min(0.4) * self.dice.between(0.85, 1.0),
                bend: -0.3 * side,
            };
            self.stalk(&rachis, [0.004, 0.003], [green; 2]);
            let pinnae = 7;
            for pinna in 0..pinnae {
                let t = (pinna as f32 + 0.8) / pinnae as f32;
                for sign in [-1.0, 1.0] {
                    let turn = rachis.turn_at(t) + sign * lerp(1.15, 0.55, t);
                    let length = 0.15 * (1.0 - 0.45 * (t - 0.45).abs());
                    let rib = Stalk { foot: rachis.at(t), turn, length, bend: -0.2 * sign };
                    self.stalk(&rib, [0.002, 0.0015], [green; 2]);
                    let color = self.tones.one(self.dice);
                    for leaflet in 0..11 {
                        let t = (leaflet as f32 + 0.7) / 11.0;
                        for hand in [-1.0, 1.0] {
                            let turn = rib.turn_at(t) + hand * 1.1;
                            let foot = rib.at(t);
                            let length = 0.026 * self.dice.between(0.85, 1.1);
                            let tip = [foot[0] + length * sin(turn), foot[1] + length * cos(turn)];
                            if tip[0].abs() < wide + 0.01 && tip[1] < 0.99 {
                                let tone = self.dice.between(0.85, 1.15);
                                let colors = [scaled(color, 0.9 * tone), scaled(color, 1.1 * tone)];
                                self.sheet.rod(&Rod {
                                    ends: [foot, tip],
                                    half: [0.0045, 0.004],
                                    colors,
                                    through: 0.45,
                                });
                            }
                        }
                    }
                }
            }
        }
    }

    fn frond(&mut self) {
        let wide = 0.5 * self.sheet.width() - 0.01;
        let green = mix(self.tones.twig, scaled(self.tones.leaf, 1.1), 0.5);
        let main = Stalk { foot: [0.0, 0.0], turn: 0.0, length: 0.98, bend: 0.06 * self.dice.normal() };
        let pairs = 22;
        for pair in 0..pairs {
            let t = 0.1 + 0.88 * (pair as f32 + 0.3) / pairs as f32;
            // Longest below the middle, to a point at the end.
            let outline = (1.0 - t).max(0.02) * lerp(0.75, 1.25, ((t - 0.1) * 3.2).min(1.0));
            for side in [-1.0, 1.0] {
                let angle = lerp(1.35, 0.85, t);
                let turn = main.turn_at(t) + side * angle;
                let long =
                    (0.62 * outline).min(1.0) * wide / 0.5 / sin(angle) * self.dice.between(0.92, 1.04);
                let foot = main.at(t);
                let pinna = Stalk { foot, turn, length: long.min(wide / sin(angle)), bend: -0.25 * side };
                let color = self.tones.one(self.dice);
                let leaflets = ((pinna.length / 0.016) as usize).clamp(3, 40);
                for leaflet in 0..leaflets {
                    let t = (leaflet as f32 + 0.5) / leaflets as f32;
                    for hand in [-1.0, 1.0] {
                        let length = 0.028 * (1.08 - t) * (0.35 + outline);
                        let turn = pinna.turn_at(t) + hand * 1.05;
                        let blade = Blade {
                            foot: pinna.at(t),
                            turn,
                            length: length.max(0.006),
                            form: Form { width: 0.62, ..self.plan.form },
                            color: scaled(color, self.dice.between(0.88, 1.12)),
                            roll: 0.2 * hand,
                            veins: 0.4,
                            through: 0.5,
                            dry: self.tones.dry,
                            dry_at: 0.0,
                        };
                        self.sheet.blade(&blade);
                    }
                }
                self.stalk(&pinna, [0.0035, 0.0015], [green; 2]);
            }
        }
        self.stalk(&main, [0.009, 0.002], [self.tones.twig, green]);
    }

    fn ear(&mut self) {
        let wide = 0.5 * self.sheet.width() - 0.01;
        let straw = self.tones.leaf;
        let main = Stalk { foot: [0.0, 0.0], turn: 0.0, length: 0.95, bend: 0.2 * self.dice.normal() };
        self.stalk(&main, [0.007, 0.003], [scaled(straw, 0.8); 2]);
        let whorls = 13;
        for whorl in 0..whorls {
            let t = 0.22 + 0.76 * whorl as f32 / whorls as f32;
            for ray in 0..4 {
                let side = if ray % 2 == 0 { 1.0 } else { -1.0 };
                let turn = main.turn_at(t) + side * self.dice.between(0.2, 0.8);
                let most = (wide / sin(turn).abs().max(0.1)).min(0.34 * (1.1 - t));
                let branch = Stalk {
                    foot: main.at(t),
                    turn,
                    length: most * self.dice.between(0.5, 1.0),
                    bend: 0.4 * side,
                };
                self.stalk(&branch, [0.002, 0.001], [straw; 2]);
                for grain in 0..5 {
                    let t = 0.35 + 0.65 * grain as f32 / 4.0;
                    let form = Form { width: 0.32, tip: 1.1, veins: 0.0, ..self.plan.form };
                    let turn = branch.turn_at(t) + 0.35 * self.dice.normal();
                    let foot = branch.at(t);
                    if foot[1] < 0.95 {
                        self.blade(foot, turn, 0.045, form);
                    }
                }
            }
        }
    }

    /// A flower from above that fills the upper end of its card; a stalk below where there is room.
    fn petals(&mut self, count: u32, disk: f32) {
        let radius = (0.48 * self.sheet.width()).min(0.48);
        let middle = [0.0, 1.0 - radius - 0.015];
        let green = scaled(self.tones.twig, 1.0);
        if middle[1] > radius {
            let stem = Stalk { foot: [0.0, 0.0], turn: 0.0, length: middle[1], bend: 0.0 };
            self.stalk(&stem, [0.02, 0.014], [green; 2]);
        }
        let start = self.dice.between(0.0, TAU);
        for ring in 0..2 {
            for petal in 0..count {
                if ring == 1 && petal % 2 == 0 {
                    continue;
                }
                let turn = start
                    + (petal as f32 + 0.4 * ring as f32 + 0.12 * self.dice.normal()) * TAU / count as f32;
                let length = radius * self.dice.between(0.88, 1.0) * if ring == 1 { 0.92 } else { 1.0 };
                self.blade(middle, turn, length, self.plan.form);
            }
        }
        let heart = if count > 8 { from_srgb([232, 182, 30]) } else { from_srgb([38, 34, 40]) };
        self.sheet.disk(middle, radius * disk, heart);
    }

    fn flowers(&mut self, flat: bool) {
        let wide = 0.5 * self.sheet.width() - 0.03;
        let green = mix(self.tones.twig, from_srgb([104, 122, 66]), 0.6);
        let foot = Stalk {
            foot: [0.0, 0.0],
            turn: 0.0,
            length: if flat { 0.45 } else { 0.85 },
            bend: 0.05 * self.dice.normal(),
        };
        self.stalk(&foot, [0.012, 0.008], [green; 2]);
        let mut heads = Vec::new();
        let rays = if flat { 17 } else { 34 };
        for ray in 0..rays {
            let share = (ray as f32 + 0.5) / rays as f32;
            let (at, turn, length) = if flat {
                let turn = lerp(-1.0, 1.0, share) + 0.05 * self.dice.normal();
                // All end at about one height.
                (foot.at(1.0), turn, 0.47 / cos(0.75 * turn).max(0.4) * self.dice.between(0.8, 1.0))
            } else {
                let side = if ray % 2 == 0 { 1.0 } else { -1.0 };
                (foot.at(0.25 + 0.75 * share), side * self.dice.between(0.35, 0.9), 0.32 * (1.15 - share))
            };
            let most = (wide / sin(turn).abs().max(0.05)).min((0.95 - at[1]) / cos(turn).max(0.2)).max(0.02);
            let stem = Stalk { foot: at, turn, length: length.min(most), bend: -0.4 * turn };
            self.stalk(&stem, [0.005, 0.003], [green; 2]);
            heads.push(stem.at(1.0));
        }
        for head in heads {
            for _ in 0..if flat { 14 } else { 9 } {
                let spread = if flat { 0.045 } else { 0.032 };
                let at = [
                    head[0] + spread * self.dice.normal() * 0.7,
                    head[1] + 0.6 * spread * self.dice.normal(),
                ];
                let radius = self.dice.between(0.008, 0.015);
                if at[0].abs() < wide + 0.015 && (0.02..0.975).contains(&at[1]) {
                    let color = scaled(self.tones.flowers, 1.0 + 0.15 * self.dice.normal());
                    self.sheet.disk(at, radius, color);
                }
            }
        }
    }
}
