//! For each rule a bug that breaks it: the oracle has to say so, by the rule's name.

use super::oracle::Rule;
use super::scenario::Scenario;
use super::world::run;
use crate::decide::mutant::{Mutant, switch};

/// How many seeds a bug may hide from.
const PATIENCE: u64 = 300;

const PLANTED: &[(Mutant, Rule)] = &[
    (Mutant::ProbeShared, Rule::OneProbe),
    (Mutant::WaitSkipped, Rule::CircuitOpen),
    (Mutant::LateOutcomeCounts, Rule::Weights),
    (Mutant::DeadlineIgnored, Rule::Deadline),
    (Mutant::ResetMovesOn, Rule::OneExecution),
    (Mutant::ResetIsNotSent, Rule::NotSentMeansUnseen),
    (Mutant::StaleIsSafe, Rule::OneReplay),
    (Mutant::ProbeNotFirst, Rule::Order),
    (Mutant::NearestNotAlone, Rule::OneProbe),
    (Mutant::AdviceBeatsSafety, Rule::OneExecution),
    (Mutant::BudgetUnpaid, Rule::Ledger),
    (Mutant::TriedNotLeftOut, Rule::TriedAsOften),
    (Mutant::SuccessProlongsHold, Rule::Order),
    (Mutant::DividesByHundred, Rule::Weights),
    (Mutant::SettleLost, Rule::InFlight),
    (Mutant::ReplayCounts, Rule::GaveUp),
    (Mutant::ReplayNotFresh, Rule::AttemptsBounded),
    (Mutant::JitterBeyondMax, Rule::GaveUp),
    (Mutant::DisabledPicked, Rule::OutOfService),
    (Mutant::AnswerForgotten, Rule::LastAnswer),
    (Mutant::WaitsForever, Rule::CallEnds),
];

/// The seed under which the oracle named this rule, or what it said instead.
fn found(mutant: Mutant, rule: Rule) -> Result<u64, Vec<Rule>> {
    switch(Some(mutant));
    let mut said = Vec::new();
    let seed = (0..PATIENCE).find(|seed| {
        said.extend(run(&Scenario::random(*seed)).violation.map(|found| found.rule));
        said.last() == Some(&rule)
    });
    switch(None);
    seed.ok_or(said)
}

#[test]
fn each_rule_is_broken_by_a_planted_bug() {
    let untested: Vec<_> =
        Rule::ALL.iter().filter(|rule| !PLANTED.iter().any(|(_, named)| named == *rule)).collect();
    assert!(untested.is_empty(), "{untested:?}");
}

#[test]
fn each_planted_bug_is_called_by_its_name() {
    let hidden: Vec<_> = PLANTED
        .iter()
        .filter_map(|&(mutant, rule)| Some((mutant, rule, found(mutant, rule).err()?)))
        .collect();
    assert!(hidden.is_empty(), "bug, rule, and what was said instead: {hidden:?}");
}
