//! The row laid out: where each member begins, and a guide that says where to look for a point.
//!
//! The guide cuts the row into stretches of one power of two, two to four for each member, and holds
//! who stands at the beginning of each: a shift finds the stretch, and the members within it are few
//! (Chen and Asau's method of 1974, by shifts). Where tiny members crowd in one stretch they are
//! searched by halves, so that no weights make a draw worse than O(log n).
//!
//! Nothing here changes: a row that is no longer true is dropped.

/// A row of members, as it was when it was built.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Where each begins, and the end of the last.
    starts: Vec<u64>,
    /// Who holds the first point of each stretch, and of the last stretch the last member.
    guide: Vec<u32>,
    /// How many bits of a point say where within its stretch it is.
    shift: u32,
}

impl Row {
    /// Lays out members of these widths, which make up `total`, above 0. O(n).
    pub(super) fn new(widths: impl ExactSizeIterator<Item = u64>, total: u64) -> Self {
        let members = widths.len();
        // Stretches: at most four for each member, and at least two where the total allows it.
        let shift = (total.ilog2() + 1).saturating_sub(members.ilog2() + 2);
        let mut starts = Vec::with_capacity(members + 1);
        let mut guide = Vec::with_capacity((total >> shift) as usize + 2);
        let mut start = 0;
        for (member, width) in widths.enumerate() {
            starts.push(start);
            start += width;
            let reached = start.checked_sub(1).map_or(0, |last| (last >> shift) as usize + 1);
            guide.resize(guide.len().max(reached), member as u32);
        }
        starts.push(start);
        guide.push(members as u32 - 1);
        Row { starts, guide, shift }
    }

    /// Where a member begins; of the one behind the last, the end.
    pub(super) fn before(&self, member: usize) -> u64 {
        self.starts[member]
    }

    /// The member that holds a point of the row.
    pub(super) fn at(&self, point: u64) -> usize {
        let stretch = (point >> self.shift) as usize;
        let (first, last) = (self.guide[stretch] as usize, self.guide[stretch + 1] as usize);
        // The last that begins at or before the point; those of no width begin where it does, and stand
        // before it.
        first + self.starts[first + 1..=last].partition_point(|start| *start <= point)
    }
}
