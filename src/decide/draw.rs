//! Draw: decides which of many members a random number falls on, in proportion to their weights.
//!
//! Members stand in a row, each as wide as its weight, or of no width while it is not eligible; a
//! number below the sum of all widths is a point on that row and thus names a member. So
//! P(i) = w_i / sum, exactly, and the walk is in index order (seed 003, A-S1 to A-S3).
//!
//! A Fenwick tree keeps the sums: a draw and a change each cost O(log n), which stays small where a
//! walk over 10,000 members would dominate the whole client. While nothing changes, which is the life
//! of a healthy pool, the row is also laid out (`draw/row.rs`), and a draw is one look into it. Both
//! name the same member for the same number, so that when it is laid out is nobody's concern but the
//! clock's. An alias table draws as fast, but names others, and cannot leave out what a call has tried.
//!
//! Priorities (ruling R5) live in the same row, which is why members are pushed in the order of
//! their priorities: a priority is then a stretch of the row. One tree for each priority was
//! rejected: in ordered mode every endpoint has its own, and finding the first that has a candidate
//! would be a walk over all of them. Here it is one more look at the sums.
//!
//! What a call has tried is left out by arithmetic on the point, not by changing the tree, so that
//! calls that run at once do not see each other's; nothing is allocated for it.
//!
//! Invariants: `total` is the sum of all widths; a member drawn is eligible, has weight, and is not
//! among the tried; none is drawn only if no such member exists.
//!
//! Flow: plan → pick (**draw**) → attempt. Random numbers come in as values.
//!
//! Not here: why a member is eligible (`pool`), how weights move (`weight`), what happens when all
//! are tried: pick then draws anew with a fresh list of tried ones (ruling R5). Where members that
//! cool down are a second choice, they make a second `WeightedDraw`.

mod row;

use row::Row;
use std::iter::successors;
use std::ops::Range;

/// Members with weights and priorities, to draw from at random.
///
/// Members are named by their index, in the order of [`push`](Self::push). The list of members only
/// grows; replacing it means building another one, O(n log n).
///
/// # Examples
///
/// ```
/// use anyhost::decide::WeightedDraw;
///
/// let mut draw = WeightedDraw::new();
/// let main = draw.push(0, 1000);
/// let weak = draw.push(0, 10);
/// let spare = draw.push(1, 1000);
///
/// let random = 0xffff_ffff_ffff_ffff; // the far end of the first priority
/// assert_eq!(draw.draw(random), Some(weak));
/// assert_eq!(draw.draw_excluding(&[weak], random), Some(main));
/// assert_eq!(draw.draw_excluding(&[weak, main], random), Some(spare));
/// assert_eq!(draw.draw_excluding(&[weak, main, spare], random), None);
///
/// draw.set_eligible(main, false);
/// assert_eq!(draw.draw(0), Some(weak));
/// ```
#[derive(Debug, Clone)]
pub struct WeightedDraw {
    members: Vec<Member>,
    /// Fenwick tree over the widths: node `k` is the sum of the last `lowest_bit(k)` members up to
    /// and including the `k`-th, counted from 1. Node 0 is an empty sum. Filled up to a power of two
    /// with sums that no point reaches, so that a walk down never asks where the members end.
    tree: Vec<u64>,
    /// Sum of all widths. 2^32 members of the largest weight would just fit.
    total: u64,
    /// One for each priority that occurs, lowest first.
    groups: Vec<Group>,
    /// The same row laid out; `None` once something has changed.
    row: Option<Row>,
    /// Calls of [`settle`](Self::settle) since then.
    calm: usize,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    weight: u32,
    eligible: bool,
}

impl Member {
    /// How much of the row it takes.
    fn width(self) -> u64 {
        if self.eligible { u64::from(self.weight) } else { 0 }
    }
}

/// The members of one priority. It starts where the group before it ends.
#[derive(Debug, Clone, Copy)]
struct Group {
    priority: u32,
    end: usize,
}

impl WeightedDraw {
    /// No members yet.
    pub fn new() -> Self {
        WeightedDraw {
            members: Vec::new(),
            tree: vec![0],
            total: 0,
            groups: Vec::new(),
            row: None,
            calm: 0,
        }
    }

    /// Adds an eligible member behind the others and returns its index. O(log n).
    ///
    /// A lower `priority` number is drawn from first. A `weight` of 0 is never drawn.
    ///
    /// # Panics
    ///
    /// When `priority` is lower than that of the member before it: sort by priority first.
    pub fn push(&mut self, priority: u32, weight: u32) -> usize {
        let index = self.members.len();
        let end = index + 1;
        match self.groups.last_mut() {
            Some(last) if last.priority == priority => last.end = end,
            last => {
                let ordered = last.is_none_or(|last| last.priority < priority);
                assert!(ordered, "members are pushed in the order of their priorities");
                self.groups.push(Group { priority, end });
            }
        }
        let member = Member { weight, eligible: true };
        let first_below = end - lowest_bit(end);
        let sum = self.total - self.before(first_below) + member.width();
        match self.tree.get_mut(end) {
            Some(node) => *node = sum,
            None => {
                self.tree.push(sum);
                self.tree.resize(self.tree.len().next_power_of_two(), UNREACHED);
            }
        }
        self.members.push(member);
        self.total += member.width();
        self.unsettle();
        index
    }

    /// How many members there are, eligible or not.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members at all.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Sum of the weights of all eligible members, of all priorities.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Gives a member another weight. O(log n).
    ///
    /// # Panics
    ///
    /// When there is no member of this index.
    pub fn set(&mut self, index: usize, weight: u32) {
        self.replace(index, Member { weight, ..self.members[index] });
    }

    /// Lets a member take part in draws, or not; its weight is kept meanwhile. O(log n).
    ///
    /// # Panics
    ///
    /// When there is no member of this index.
    pub fn set_eligible(&mut self, index: usize, eligible: bool) {
        self.replace(index, Member { eligible, ..self.members[index] });
    }

    /// Makes draws quicker, once it was called as often as there are members without a change between:
    /// to be called before each draw where that is possible. What is drawn is the same.
    ///
    /// Laying the row out costs O(n), so that this costs O(1) for each call even where changes are
    /// timed at their worst.
    pub(super) fn settle(&mut self) {
        if self.row.is_none() {
            self.calm += 1;
            if self.calm >= self.len() {
                self.lay_out();
            }
        }
    }

    /// Makes draws quicker at once, until the next change. O(n).
    pub(super) fn lay_out(&mut self) {
        // A few are found as quickly in the tree, and nobody takes part where the total is 0.
        if self.len() > FEW && self.total > 0 {
            self.row = Some(Row::new(self.members.iter().map(|member| member.width()), self.total));
        }
        self.calm = 0;
    }

    /// Draws from the lowest priority that has an eligible member: O(log n), or O(1) on average while
    /// weights stand still.
    ///
    /// `random` is any of the 2^64 numbers, evenly drawn. It is scaled to the sum by a widening
    /// multiplication, so that every member's chance is off by less than one in 2^64.
    pub fn draw(&self, random: u64) -> Option<usize> {
        self.draw_from(0, &[], random)
    }

    /// As [`draw`](Self::draw), but never one of `tried`: the next attempt of a call (ruling R4).
    ///
    /// `tried` may be in any order and may repeat itself; what is not a member is ignored. Costs
    /// O(log n) for each of them besides, and the square of their number in comparisons: a call
    /// tries a handful.
    pub fn draw_excluding(&self, tried: &[usize], random: u64) -> Option<usize> {
        self.draw_from(0, tried, random)
    }

    /// As [`draw_excluding`](Self::draw_excluding), but passing over priorities below `priority`,
    /// where a hold makes the order start (ruling R3). To wrap, draw again from 0.
    pub fn draw_from(&self, priority: u32, tried: &[usize], random: u64) -> Option<usize> {
        if tried.is_empty() && self.groups.len() == 1 && priority <= self.groups[0].priority {
            // What nearly all draws are.
            return (self.total > 0).then(|| self.at(scale(random, self.total)));
        }
        let mut group = self.groups.partition_point(|group| group.priority < priority);
        // Each turn but the last passes a group whose eligible members are all tried, so that there
        // are at most tried.len() + 2 turns, however many groups are out.
        loop {
            let members = self.range(group)?;
            let (start, end) = (self.before(members.start), self.before(members.end));
            let drawn = match tried {
                // The first attempt of a call: nearly all draws there are.
                [] if start < end => Some(self.at(start + scale(random, end - start))),
                [] => None,
                _ => self.draw_untried(members, start..end, tried, random),
            };
            if drawn.is_some() || end == self.total {
                return drawn;
            }
            let next = self.at(end);
            group = self.groups.partition_point(|group| group.end <= next);
        }
    }

    /// Draws from the members of a group, which take the stretch `row`, without those tried.
    #[inline(never)]
    fn draw_untried(
        &self,
        members: Range<usize>,
        row: Range<u64>,
        tried: &[usize],
        random: u64,
    ) -> Option<usize> {
        let tried_width: u64 = ascending(tried, &members).map(|i| self.width(i)).sum();
        let untried = row.end - row.start - tried_width;
        if untried == 0 {
            return None;
        }
        let mut point = row.start + scale(random, untried);
        // The row has closed up where members were tried. In ascending order, so that `point` is
        // always one of the row with the earlier gaps open.
        for index in ascending(tried, &members) {
            if point < self.before(index) {
                break;
            }
            point += self.width(index);
        }
        Some(self.at(point))
    }

    /// The members of a group.
    fn range(&self, group: usize) -> Option<Range<usize>> {
        let end = self.groups.get(group)?.end;
        let start = if group == 0 { 0 } else { self.groups[group - 1].end };
        Some(start..end)
    }

    fn width(&self, index: usize) -> u64 {
        self.members[index].width()
    }

    /// Where the member `index` begins: the sum of the widths of those before it.
    fn before(&self, index: usize) -> u64 {
        if index == self.len() {
            return self.total;
        }
        if let Some(row) = &self.row {
            return row.before(index);
        }
        let mut sum = 0;
        let mut node = index;
        while node > 0 {
            sum += self.tree[node];
            node -= lowest_bit(node);
        }
        sum
    }

    /// The member whose stretch holds `point`, which is below the total.
    fn at(&self, mut point: u64) -> usize {
        debug_assert!(point < self.total, "{point} of {}", self.total);
        if let Some(row) = &self.row {
            return row.at(point);
        }
        let mut passed = 0;
        let mut step = self.tree.len() / 2;
        while step > 0 {
            let node = passed + step;
            let sum = self.tree[node];
            // By itself this compiles to a conditional move instead of a jump that is guessed wrong half
            // of the time. Members of no width are passed as well: nothing of them holds the point.
            if sum <= point {
                point -= sum;
                passed = node;
            }
            step /= 2;
        }
        passed
    }

    fn unsettle(&mut self) {
        self.row = None;
        self.calm = 0;
    }

    fn replace(&mut self, index: usize, member: Member) {
        // Wrapping, since the change may be negative; the sums themselves never are.
        let change = member.width().wrapping_sub(self.width(index));
        self.members[index] = member;
        if change == 0 {
            return;
        }
        self.unsettle();
        self.total = self.total.wrapping_add(change);
        let mut node = index + 1;
        while node <= self.members.len() {
            self.tree[node] = self.tree[node].wrapping_add(change);
            node += lowest_bit(node);
        }
    }
}

impl Default for WeightedDraw {
    fn default() -> Self {
        Self::new()
    }
}

/// The sum of a node that is not there yet: above every point, since points are below a total.
const UNREACHED: u64 = u64::MAX;

/// Up to this many the tree is as quick as the row.
const FEW: usize = 8;

/// How many members a node of the tree sums up.
fn lowest_bit(node: usize) -> usize {
    node & node.wrapping_neg()
}

/// A number below `bound`, in proportion to where `random` stands among all u64.
fn scale(random: u64, bound: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

/// The tried members within a range, each once, in index order. Looks for the next larger one
/// instead of sorting, because there are few and a pick allocates nothing.
fn ascending(tried: &[usize], members: &Range<usize>) -> impl Iterator<Item = usize> {
    let first_of = move |range: Range<usize>| {
        tried.iter().copied().filter(move |index| range.contains(index)).min()
    };
    let end = members.end;
    successors(first_of(members.clone()), move |&last| first_of(last + 1..end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SplitMix64: `decide` may not name the client's generator, and a test needs no better one.
    struct Chance(u64);

    impl Chance {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }

        fn below(&mut self, bound: usize) -> usize {
            (self.next() % bound as u64) as usize
        }
    }

    /// What a draw means, spelled as a walk over a list.
    #[derive(Default)]
    struct Walk(Vec<(u32, Member)>);

    impl Walk {
        fn draw_from(&self, priority: u32, tried: &[usize], random: u64) -> Option<usize> {
            let candidates = || {
                self.0.iter().enumerate().filter(|(index, (own, member))| {
                    *own >= priority && member.width() > 0 && !tried.contains(index)
                })
            };
            let lowest = candidates().map(|(_, (own, _))| *own).min()?;
            let group = || candidates().filter(|(_, (own, _))| *own == lowest);
            let sum: u64 = group().map(|(_, (_, member))| member.width()).sum();
            let mut point = (u128::from(random) * u128::from(sum) / (1 << 64)) as u64;
            for (index, (_, member)) in group() {
                match point.checked_sub(member.width()) {
                    Some(rest) => point = rest,
                    None => return Some(index),
                }
            }
            unreachable!("the point is below the sum")
        }
    }

    #[test]
    fn agrees_with_a_walk_over_the_list_through_random_changes() {
        let mut drawn = 0;
        for seed in 0..60 {
            let mut chance = Chance(seed);
            let (mut draw, mut walk) = (WeightedDraw::new(), Walk::default());
            let mut priority = 0;
            // Every third seed is ordered mode (each member its own priority), every third has one
            // priority only.
            let jump = [0, 100, 15][seed as usize % 3];
            for step in 0..600 {
                let len = draw.len();
                match chance.below(10) {
                    0 | 1 if len < 70 => {
                        priority += u32::from(chance.below(100) < jump) * 2;
                        let weight = [0, 1, 1000, u32::MAX][chance.below(4)];
                        assert_eq!(draw.push(priority, weight), len);
                        walk.0.push((priority, Member { weight, eligible: true }));
                    }
                    2 | 3 if len > 0 => {
                        let (index, weight) = (chance.below(len), chance.below(1001) as u32);
                        draw.set(index, weight);
                        walk.0[index].1.weight = weight;
                    }
                    4 | 5 if len > 0 => {
                        // Mostly out, so that whole groups are.
                        let (index, eligible) = (chance.below(len), chance.below(3) == 0);
                        draw.set_eligible(index, eligible);
                        walk.0[index].1.eligible = eligible;
                    }
                    _ => {
                        // Repeats and strangers included.
                        let tried: Vec<_> =
                            (0..chance.below(12)).map(|_| chance.below(len + 2)).collect();
                        let from = chance.below(priority as usize + 2) as u32;
                        let random = [0, u64::MAX, chance.next(), chance.next()][chance.below(4)];
                        let picked = draw.draw_from(from, &tried, random);
                        let told = format!("seed {seed}, step {step}, {tried:?} from {from}");
                        assert_eq!(picked, walk.draw_from(from, &tried, random), "{told}");
                        if let Some(index) = picked {
                            drawn += 1;
                            let (own, member) = walk.0[index];
                            assert!(member.eligible && member.weight > 0, "{told}");
                            assert!(!tried.contains(&index) && own >= from, "{told}");
                        }
                        let drawn_anew = draw.draw_excluding(&tried, random);
                        assert_eq!(drawn_anew, walk.draw_from(0, &tried, random), "{told}");
                        assert_eq!(draw.draw(random), walk.draw_from(0, &[], random), "{told}");
                        // And so does the row, which the next change drops.
                        draw.lay_out();
                        assert_eq!(
                            draw.draw_from(from, &tried, random),
                            picked,
                            "laid out: {told}"
                        );
                        assert_eq!(draw.draw(random), walk.draw_from(0, &[], random), "{told}");
                    }
                }
                let total: u64 = walk.0.iter().map(|(_, member)| member.width()).sum();
                assert_eq!((draw.len(), draw.total()), (walk.0.len(), total), "seed {seed}");
            }
        }
        assert!(drawn > 3_000, "the loop drew only {drawn} times");
    }

    fn counts(weights: &[u32], draws: u32, seed: u64) -> Vec<u32> {
        let mut draw = WeightedDraw::new();
        for &weight in weights {
            draw.push(0, weight);
        }
        let mut chance = Chance(seed);
        let mut counts = vec![0; weights.len()];
        for _ in 0..draws {
            counts[draw.draw(chance.next()).expect("all are eligible")] += 1;
        }
        counts
    }

    #[test]
    fn shares_follow_the_weights_within_a_point_and_a_half() {
        for weights in [[1, 1, 1], [1, 2, 7]] {
            let sum: u32 = weights.iter().sum();
            let counts = counts(&weights, 60_000, 3);
            for (weight, count) in weights.iter().zip(&counts) {
                let expected = 100.0 * f64::from(*weight) / f64::from(sum);
                let share = 100.0 * f64::from(*count) / 60_000.0;
                assert!((share - expected).abs() < 1.5, "{weights:?} drew {counts:?}");
            }
        }
    }

    #[test]
    fn a_thousand_random_weights_pass_the_chi_square_test() {
        let mut chance = Chance(4);
        // From 20 on, so that each is expected at least 20 times, as the test needs (5 would do).
        let weights: Vec<_> = (0..1_000).map(|_| 20 + chance.below(981) as u32).collect();
        let sum = f64::from(weights.iter().sum::<u32>());
        let draws = 500_000;
        let statistic: f64 = counts(&weights, draws, 5)
            .iter()
            .zip(&weights)
            .map(|(&count, &weight)| {
                let expected = f64::from(draws) * f64::from(weight) / sum;
                (f64::from(count) - expected).powi(2) / expected
            })
            .sum();
        // 999 degrees of freedom: mean 999, deviation 44.7. Four of them either way; a value too
        // small would mean that the numbers are not random.
        assert!((820.0..1178.0).contains(&statistic), "chi-square {statistic}");
    }

    #[test]
    fn the_ends_of_chance_are_the_ends_of_the_row() {
        let mut draw = WeightedDraw::new();
        for _ in 0..10_000 {
            draw.push(0, u32::MAX);
        }
        assert_eq!(draw.total(), 10_000 * u64::from(u32::MAX));
        assert_eq!(draw.draw(0), Some(0));
        assert_eq!(draw.draw(u64::MAX), Some(9_999));
        assert_eq!(draw.draw(1 << 63), Some(5_000));
        assert_eq!(draw.draw_excluding(&[0, 9_999], 0), Some(1));
        assert_eq!(draw.draw_excluding(&[0, 9_999], u64::MAX), Some(9_998));
    }

    /// Tiny members crowd in one stretch of the guide, huge ones take many, some have no width at all.
    #[test]
    fn the_row_names_who_the_tree_names_at_both_ends_of_every_member() {
        let of = |index: usize, chance: &mut Chance| match index % 5 {
            0 => 0,
            1 | 2 => 1,
            3 => chance.below(1000) as u32,
            _ => u32::MAX >> chance.below(32),
        };
        for members in [FEW + 1, 15, 16, 17, 1_000, 4_097] {
            let (mut draw, mut chance) = (WeightedDraw::new(), Chance(members as u64));
            for index in 0..members {
                draw.push(0, of(index, &mut chance));
            }
            let mut laid = draw.clone();
            laid.lay_out();
            assert!(laid.row.is_some());
            for index in 0..members {
                let start = draw.before(index);
                assert_eq!(laid.before(index), start);
                for point in start..(start + draw.width(index)).min(start + 2) {
                    assert_eq!((draw.at(point), laid.at(point)), (index, index));
                }
                if let Some(last) = draw.width(index).checked_sub(1) {
                    assert_eq!(laid.at(start + last), index, "{members} members");
                }
            }
        }
    }

    #[test]
    fn the_row_is_laid_out_once_all_is_calm_and_dropped_by_a_change() {
        let mut draw = WeightedDraw::new();
        for _ in 0..100 {
            draw.push(0, 10);
        }
        let calm = |draw: &mut WeightedDraw, calls: usize| {
            (0..calls).for_each(|_| draw.settle());
            draw.row.is_some()
        };
        assert!(!calm(&mut draw, 99));
        assert!(calm(&mut draw, 1));
        draw.set(7, 10);
        draw.set_eligible(8, true);
        assert!(draw.row.is_some(), "nothing has changed");
        draw.set(7, 9);
        assert!(!calm(&mut draw, 50));
        draw.set_eligible(8, false);
        assert!(!calm(&mut draw, 99), "the count began anew");
        assert!(calm(&mut draw, 1));
        draw.push(0, 10);
        assert!(draw.row.is_none());
    }

    #[test]
    fn nobody_to_draw_is_no_member() {
        let mut draw = WeightedDraw::new();
        assert_eq!((draw.draw(7), draw.is_empty()), (None, true));
        draw.push(3, 0);
        draw.push(3, 10);
        draw.set_eligible(1, false);
        assert_eq!((draw.draw(7), draw.total(), draw.is_empty()), (None, 0, false));
        draw.set_eligible(1, true);
        assert_eq!(draw.draw(7), Some(1));
        assert_eq!(draw.draw_from(4, &[], 7), None);
    }

    #[test]
    #[should_panic(expected = "in the order of their priorities")]
    fn a_better_priority_cannot_be_pushed_behind_a_worse_one() {
        let mut draw = WeightedDraw::new();
        draw.push(1, 10);
        draw.push(0, 10);
    }
}
