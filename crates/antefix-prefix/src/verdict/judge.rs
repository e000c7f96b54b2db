//! The verdict on a request and the one it should extend.

use antefix_models::{Retention, Rewrite, Tokens, Ttl};
use antefix_wire::anthropic::{BlockKind, Role};
use antefix_wire::json::{Kind as Json, Node};

use super::messages::{Said, messages};
use super::time::{Loss, expired, is_warm, left_the_head, loss, may_be_gone, overlap};
use super::{
    Confidence, Dialect, Finding, Kind, Observation, Party, Prompt, Segment, ServerEdit, Severity, Value,
};
use super::{layout, parameters, system, tools};
use crate::position::Section;

/// A finding and the place of its change.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) finding: Finding,
    /// Number of the earlier request's items in front of it.
    pub(super) position: usize,
}

/// What was found between two requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Differences that broke the prefix, in reading order. The first one carries the tokens.
    pub breaks: Vec<Finding>,
    /// Losses and faults without a difference of content.
    pub faults: Vec<Finding>,
    /// What was meant to be: a rewind, a fork, other parameters that were asked for. No break.
    pub planned: Vec<Finding>,
    /// What is worth knowing and was no break.
    pub notes: Vec<String>,
}

/// Judges `later` against `earlier`, the request it should extend. Both bodies must be known; see
/// [`series`](super::series) for usage alone.
pub fn judge(earlier: &Observation<'_>, later: &Observation<'_>) -> Verdict {
    let (Some(old), Some(new)) = (earlier.prompt, later.prompt) else {
        return Verdict::default();
    };
    let mut case =
        Case { earlier, later, old, new, loss: loss(earlier, later, true), verdict: Verdict::default() };
    if old.dialect != new.dialect {
        case.verdict
            .notes
            .push("the two requests are in different dialects and were not compared".to_owned());
        return case.verdict;
    }
    match differences(old, new) {
        Compared::Branches(branch) => {
            let finding = case.branch(branch);
            case.verdict.planned.push(finding);
        }
        Compared::Differs(drafts) => case.differs(drafts),
        Compared::Extends => {}
    }
    case.explain_loss();
    case.say_what_the_server_says();
    case.verdict
}

/// Judges one request by itself: its markers, and whether anything was cached at all.
pub fn judge_alone(observation: &Observation<'_>) -> Vec<Finding> {
    layout::alone(observation)
}

enum Compared {
    Extends,
    Branches(Draft),
    Differs(Vec<Draft>),
}

/// All differences between two requests in reading order.
fn differences(old: &Prompt<'_>, new: &Prompt<'_>) -> Compared {
    let (tool_count, system_count) = (old.tools.len(), old.system.len());
    let (tools_at, system_at) = if old.reads_system_first() { (system_count, 0) } else { (0, tool_count) };
    let head = tool_count + system_count;
    let shift = |drafts: Vec<Draft>, by: usize| {
        drafts.into_iter().map(move |draft| Draft { position: draft.position + by, ..draft })
    };
    let mut drafts = parameters::early(old, new);
    drafts.extend(shift(tools::tools(old, new), tools_at));
    drafts.extend(shift(system::system(old, new), system_at));
    drafts.extend(parameters::late(old, new, head));
    let mut branch = None;
    match messages(old, new) {
        Said::Extends => {}
        Said::Branches(found) => branch = shift(vec![found], head).next(),
        Said::Differs(found) => drafts.extend(shift(found, head)),
    }
    drafts.sort_by_key(|draft| draft.position);
    match branch {
        Some(branch) if drafts.is_empty() => Compared::Branches(branch),
        None if drafts.is_empty() => Compared::Extends,
        _ => Compared::Differs(merge(drafts)),
    }
}

/// Keeps the first of each kind and notes where the others are.
fn merge(drafts: Vec<Draft>) -> Vec<Draft> {
    let mut kept: Vec<(Draft, Vec<String>)> = Vec::new();
    for draft in drafts {
        match kept.iter_mut().find(|(known, _)| known.finding.kind == draft.finding.kind) {
            Some((_, also)) => also.push(draft.finding.path),
            None => kept.push((draft, Vec::new())),
        }
    }
    let noted = kept.into_iter().map(|(mut draft, also)| {
        if !also.is_empty() {
            draft.finding.evidence.note("also_at", also);
        }
        draft
    });
    noted.collect()
}

struct Case<'o, 'a> {
    earlier: &'o Observation<'a>,
    later: &'o Observation<'a>,
    old: &'o Prompt<'a>,
    new: &'o Prompt<'a>,
    loss: Loss,
    verdict: Verdict,
}

impl Case<'_, '_> {
    /// Names a branch; what it lost is what both requests share and was not read.
    fn branch(&self, branch: Draft) -> Finding {
        let apart = |left: &Option<String>, right: &Option<String>| matches!((left, right), (Some(left), Some(right)) if left != right);
        let (earlier, later) = (self.earlier, self.later);
        let is_fork = apart(&earlier.session, &later.session) || apart(&earlier.agent, &later.agent);
        let head = self.old.tools.len() + self.old.system.len();
        let kind = match branch.position == head {
            _ if is_fork => Kind::Fork,
            true => Kind::Clear,
            false => Kind::Rewind,
        };
        let mut finding = Finding {
            earlier: branch.finding.earlier,
            later: branch.finding.later,
            ..Finding::new(kind, branch.finding.path)
        };
        let (before, all) = (self.old.bytes_before(branch.position), self.old.bytes_before(usize::MAX));
        if let (Some(cached), Some(usage)) = (earlier.cached(), later.usage) {
            let shared = u128::from(cached.0) * u128::from(before) / u128::from(all.max(1));
            let shared = Tokens(u64::try_from(shared).unwrap_or(u64::MAX));
            finding.rewritten = Some(shared - usage.read.min(shared));
        }
        finding
    }

    fn differs(&mut self, drafts: Vec<Draft>) {
        if let [draft] = drafts.as_slice()
            && draft.finding.kind.row().segment == Segment::Messages
            && let Some(item) = layout::transient(self.old, draft.position)
        {
            let mut finding = Finding::new(Kind::Transient, item.path.to_string());
            finding.earlier.clone_from(&draft.finding.earlier);
            self.verdict.faults.push(finding);
            return;
        }
        if self.loss == Loss::Kept {
            let paths: Vec<_> = drafts.iter().map(|draft| draft.finding.path.as_str()).collect();
            let paths = paths.join(", ");
            self.verdict
                .notes
                .push(format!("{paths} differs, and all that was cached was read: it cost nothing"));
            return;
        }
        let client = self.client();
        let cold = expired(self.earlier, self.later);
        for draft in drafts {
            if self.is_behind_the_last_marker(draft.position) {
                let path = &draft.finding.path;
                self.verdict
                    .notes
                    .push(format!("{path} differs behind the last marker, where nothing was kept: no break"));
                continue;
            }
            let first = self.verdict.breaks.is_empty() && self.verdict.planned.is_empty();
            let finding = self.complete(draft, client.as_ref(), cold, first);
            let is_asked_for = self.later.is_altered && finding.kind.row().segment == Segment::Parameters;
            let found = if is_asked_for { &mut self.verdict.planned } else { &mut self.verdict.breaks };
            found.push(finding);
        }
    }

    /// Nothing behind the last marker is kept. A request whose messages carry no marker at all says nothing about
    /// them: something on the way may set markers, or keep without being asked.
    fn is_behind_the_last_marker(&self, position: usize) -> bool {
        let items: Vec<_> = self.old.items().collect();
        let in_messages =
            |index: usize| items.get(index).is_some_and(|item| item.section == Section::Messages);
        match self.old.last_marker() {
            Some(last) if !self.old.dialect.is_implicit() => {
                position > last && (in_messages(last) || !in_messages(position) && position < items.len())
            }
            _ => false,
        }
    }

    fn complete(&self, draft: Draft, client: Option<&Client>, cold: Option<Ttl>, first: bool) -> Finding {
        let Draft { mut finding, position } = draft;
        self.attribute(&mut finding, client);
        finding.confidence = match self.loss {
            Loss::Lost(_) => Confidence::Certain,
            Loss::Kept | Loss::Unknown => Confidence::Likely,
        };
        if first {
            (finding.rewritten, finding.exact) = self.rewritten(position);
        }
        self.note_circumstances(&mut finding);
        if let Some(ttl) = cold {
            finding.severity = Severity::Info;
            finding.party = Party::Time;
            finding.root_cause = format!("ttl_expired_{ttl}");
        }
        finding
    }

    /// Tokens paid for once more, and whether the provider's counts say so.
    fn rewritten(&self, position: usize) -> (Option<Tokens>, bool) {
        if let Loss::Lost(tokens) = self.loss {
            return (Some(tokens), !self.earlier.is_implicit());
        }
        let (before, all) = (self.old.bytes_before(position), self.old.bytes_before(usize::MAX));
        let behind = all.saturating_sub(before);
        let tokens = match self.earlier.usage.map(|usage| usage.prompt().0).filter(|_| all > 0) {
            Some(prompt) => {
                let share = u128::from(prompt) * u128::from(behind) / u128::from(all);
                Tokens(u64::try_from(share).unwrap_or(u64::MAX))
            }
            None => layout::estimate(behind),
        };
        (Some(tokens), false)
    }

    fn note_circumstances(&self, finding: &mut Finding) {
        if let (Some(left), Some(right)) = (&self.earlier.process, &self.later.process) {
            finding.evidence.note("new_process", left != right);
        }
        let warm = is_warm(self.earlier, self.later);
        if let Some(warm) = warm {
            finding.evidence.note("warm", warm);
        }
        let (Some(before), Some(after)) = (self.earlier.usage, self.later.usage) else {
            return;
        };
        let written = |usage: antefix_models::Counts| usage.write_5m + usage.write_1h;
        if !written(before).is_zero() && !written(after).is_zero() && after.read.is_zero() {
            finding.evidence.note("written_never_read", before.read.is_zero());
        }
        finding.evidence.note("context_shrank", after.prompt() < before.prompt());
        if finding.kind == Kind::ToolResultCleared {
            finding
                .evidence
                .note("paid_for_clearing", warm != Some(false) && matches!(self.loss, Loss::Lost(_)));
        }
        if finding.kind.row().segment == Segment::Messages && !after.read.is_zero() {
            finding.evidence.note("read_floor", "tools+system");
        }
        let share = |usage: antefix_models::Counts| {
            Value::Share(usage.read.0.saturating_mul(10_000).checked_div(usage.prompt().0).unwrap_or(0))
        };
        let both = vec![("earlier", share(before)), ("later", share(after))];
        finding.evidence.note("read_share_of_input", Value::Group(both));
    }

    /// What the client's own two requests look like.
    fn client(&self) -> Option<Client> {
        let (old, new) = (self.earlier.client?, self.later.client?);
        let drafts = match differences(old, new) {
            Compared::Differs(drafts) => drafts.iter().map(|draft| draft.finding.kind).collect(),
            Compared::Extends | Compared::Branches(_) => Vec::new(),
        };
        let mid = new.turns.iter().filter(|turn| turn.role == Role::System).flat_map(|turn| &turn.items);
        let notes = mid.filter_map(|item| item.text().map(|text| text.trim().to_owned())).collect();
        Some(Client { kinds: drafts, notes })
    }

    /// Says who did it: a gateway, where the client's own requests do not differ that way.
    fn attribute(&self, finding: &mut Finding, client: Option<&Client>) {
        let Some(client) = client else {
            let either = finding.kind.row().causes == [Party::Gateway, Party::Agent];
            if either && !matches!(finding.kind, Kind::TtlDowngraded) {
                finding.party = Party::Unknown;
            }
            return;
        };
        if client.kinds.contains(&finding.kind) {
            finding.party = Party::Agent;
            return;
        }
        finding.party = Party::Gateway;
        finding.evidence.note("origin", "gateway").note("client_pair_stable", client.kinds.is_empty());
        let hoisted = finding.kind.row().segment == Segment::System && self.hoists(client);
        let kind = match finding.kind {
            _ if hoisted => Kind::SystemHoisted,
            kind if kind.is_generic() => Kind::GatewayRewrite,
            kind => kind,
        };
        if kind != finding.kind {
            finding.evidence.note("seen_as", finding.kind.id());
            kind.id().clone_into(&mut finding.root_cause);
            finding.kind = kind;
        }
    }

    /// A note from inside the client's conversation stands in the later system prompt and not in the earlier one.
    fn hoists(&self, client: &Client) -> bool {
        let text = |prompt: &Prompt<'_>| {
            let texts = prompt.system.iter().filter_map(|item| item.text().map(|text| text.into_owned()));
            texts.collect::<Vec<_>>().join("\n")
        };
        let (before, after) = (text(self.old), text(self.new));
        client
            .notes
            .iter()
            .any(|note| note.len() > 3 && after.contains(note.as_str()) && !before.contains(note.as_str()))
    }

    /// A message in another form with the same meaning: no difference to the documented API, and the one thing left
    /// that can have cost what was lost.
    fn other_form(&self) -> Option<Finding> {
        let content = |turn: &super::prompt::Turn<'_>| turn.node.get("content").map(Node::kind);
        let mut both = self.old.turns.iter().zip(&self.new.turns);
        let (old, new) = both.find(|(old, new)| content(old) != content(new))?;
        let path = format!("{}/content", new.path.whole());
        let mut finding =
            Finding { confidence: Confidence::Suspected, ..Finding::new(Kind::Reserialized, path) };
        let shape = |turn| if content(turn) == Some(Json::String) { "string" } else { "blocks" };
        finding.evidence.note("form", vec![shape(old).to_owned(), shape(new).to_owned()]);
        Some(finding)
    }

    /// Where nothing broke and yet tokens were lost, says why.
    fn explain_loss(&mut self) {
        if let Some(finding) = self.downgraded() {
            self.verdict.faults.push(finding);
        }
        if !self.verdict.breaks.is_empty() || !self.verdict.planned.is_empty() {
            return;
        }
        let lost = match self.loss {
            Loss::Lost(tokens) => Some(tokens),
            Loss::Unknown => None,
            Loss::Kept => return self.note_reach(),
        };
        let mut found = self.cause_without_difference(lost.is_some());
        if found.is_empty()
            && let Some(reason) = self.verdict.faults.first_mut()
        {
            (reason.rewritten, reason.exact) = (lost, lost.is_some() && !self.earlier.is_implicit());
        }
        let is_a_guess = found.first().is_some_and(|finding| finding.kind == Kind::ProviderSuspected);
        if is_a_guess && let Some(mut finding) = self.other_form() {
            (finding.rewritten, finding.exact) = (lost, !self.earlier.is_implicit());
            self.verdict.breaks.push(finding);
            return;
        }
        if let Some(finding) = found.first_mut() {
            finding.rewritten = lost;
            finding.exact = lost.is_some() && !self.earlier.is_implicit();
            if lost.is_some() && finding.confidence == Confidence::Likely {
                finding.confidence = Confidence::Certain;
            }
        }
        if let (Some(finding), Some(usage)) = (found.first_mut(), self.later.usage) {
            finding.evidence.note("extra_written_tokens", (usage.write_5m + usage.write_1h).0);
        }
        self.verdict.faults.extend(found);
    }

    fn note_reach(&mut self) {
        let rules = &self.later.rules;
        if let Some(count) = layout::positions_since_last_entry(self.old, self.new, rules) {
            let window = rules.lookback.positions;
            self.verdict
                .notes
                .push(format!("positions_since_last_entry: {count}, of {window} that are searched"));
        }
    }

    /// In order: what the clock says, what the answer says, where it was sent, the markers, the model's rules, what was
    /// asked for, the provider.
    fn cause_without_difference(&self, lost: bool) -> Vec<Finding> {
        let has_transient = self.verdict.faults.iter().any(|finding| finding.kind == Kind::Transient);
        if has_transient {
            return Vec::new();
        }
        if lost && let Some(ttl) = expired(self.earlier, self.later) {
            let kind =
                if left_the_head(self.earlier, self.later) { Kind::TtlMixed } else { Kind::TtlExpired };
            let mut finding = Finding::new(kind, "");
            finding.root_cause = format!("ttl_expired_{ttl}");
            return vec![finding];
        }
        if let Some(finding) = self.server_edit().filter(|_| lost) {
            return vec![finding];
        }
        if lost {
            let routing = parameters::routing(self.earlier, self.later);
            if !routing.is_empty() {
                return routing;
            }
            if overlap(self.earlier, self.later) {
                return vec![Finding::new(Kind::ColdFanout, "")];
            }
        }
        if let Some(finding) = layout::lookback(self.old, self.new, &self.later.rules) {
            return vec![finding];
        }
        if !lost {
            return Vec::new();
        }
        if let Some(finding) = self.template_rewrites() {
            return vec![finding];
        }
        if self.forgets_thinking() {
            let is_chat = self.old.dialect == Dialect::OpenAiChat;
            let kind = if is_chat { Kind::TemplateRewrites } else { Kind::ThinkingRetention };
            return vec![Finding { confidence: Confidence::Suspected, ..Finding::new(kind, "") }];
        }
        if may_be_gone(self.earlier, self.later) {
            return vec![Finding { confidence: Confidence::Suspected, ..Finding::new(Kind::TtlExpired, "") }];
        }
        if self.verdict.faults.iter().any(|finding| finding.kind == Kind::TtlDowngraded) {
            // Whether a marker of another lifetime reads the old entry is not documented: that is reason enough.
            return Vec::new();
        }
        if let Some(finding) = self.asked_edit() {
            return vec![finding];
        }
        let mut finding = Finding::new(Kind::ProviderSuspected, "");
        finding.confidence = Confidence::Suspected;
        finding.evidence.note("user_actionable", false);
        vec![finding]
    }

    /// What the server has newly done to the prompt, as its answer says or a new summary in the later request shows.
    fn server_edit(&self) -> Option<Finding> {
        let edits = self.later.edits.unwrap_or_default();
        if edits.summarised {
            return Some(Finding::new(ServerEdit::Summarised.kind(), ""));
        }
        let before = self.earlier.edits.and_then(|edits| edits.cleared).unwrap_or_default();
        if edits.cleared.is_some_and(|cleared| cleared.exceeds(&before)) {
            return Some(Finding::new(ServerEdit::Cleared.kind(), ""));
        }
        let summary = |prompt: &Prompt<'_>| {
            let last = prompt.said().filter(|item| item.is(BlockKind::Compaction)).last();
            last.map(|item| item.path.to_string())
        };
        let path = summary(self.new).filter(|path| summary(self.old).as_ref() != Some(path))?;
        Some(Finding::new(Kind::ServerCompaction, path))
    }

    /// What the server may have done to the prompt where its answer is not known: what the request asks for. Clients ask
    /// in every request, so that it is a guess for what nothing else explains.
    fn asked_edit(&self) -> Option<Finding> {
        if self.later.edits.is_some() {
            return None;
        }
        let edits = self.new.root.pointer("/context_management/edits")?;
        let types = edits.items().filter_map(|edit| edit.get("type").and_then(Node::str));
        let edit = |kind: std::borrow::Cow<'_, str>| {
            if kind.starts_with("compact_") { ServerEdit::Summarised } else { ServerEdit::Cleared }
        };
        let kind = types.map(edit).next()?.kind();
        Some(Finding { confidence: Confidence::Suspected, ..Finding::new(kind, "/context_management") })
    }

    /// What the model's chat template renders anew between the two, where the rules know it.
    fn template_rewrites(&self) -> Option<Finding> {
        let template = &self.later.rules.template;
        let speaks = self.user_speaks();
        let day = |one: &Observation<'_>| one.started_at.map(|at| at.0.div_euclid(86_400_000));
        let found =
            Rewrite::ALL.into_iter().filter(|rewrite| template.does(*rewrite)).find(
                |rewrite| match rewrite {
                    Rewrite::ReasoningStripping => {
                        speaks && self.old.said().any(super::prompt::Item::is_thinking)
                    }
                    Rewrite::ToolsLate => speaks && !self.old.tools.is_empty(),
                    Rewrite::Dated => {
                        matches!((day(self.earlier), day(self.later)), (Some(old), Some(new)) if old != new)
                    }
                },
            )?;
        let mut finding = Finding::new(Kind::TemplateRewrites, "");
        if !template.certain {
            finding.confidence = Confidence::Suspected;
        }
        finding.evidence.note("template", found.name()).note("template_source", template.source);
        Some(finding)
    }

    fn user_speaks(&self) -> bool {
        let new = self.new.turns.iter().skip(self.old.turns.len());
        new.filter(|turn| turn.role == Role::User)
            .any(|turn| turn.items.iter().any(|item| item.is(BlockKind::Text)))
    }

    fn forgets_thinking(&self) -> bool {
        let speaks = self.user_speaks();
        self.later.rules.thinking_retention == Retention::LastTurn
            && speaks
            && self.old.said().any(super::prompt::Item::is_thinking)
    }

    fn downgraded(&self) -> Option<Finding> {
        use antefix_wire::anthropic::Ttl as Wire;
        let asks = |prompt: &Prompt<'_>, ttl| {
            prompt.items().any(|item| item.marker == Some(ttl)) || prompt.automatic == Some(ttl)
        };
        let was_hour = asks(self.old, Wire::OneHour);
        let now_short = self.new.markers() > 0 && !asks(self.new, Wire::OneHour);
        if !(was_hour && now_short) {
            return None;
        }
        let mut finding = Finding::new(Kind::TtlDowngraded, "");
        let client_asks = self.later.client.map(|client| asks(client, Wire::OneHour));
        finding.party = if client_asks == Some(true) { Party::Gateway } else { Party::Agent };
        Some(finding)
    }

    fn say_what_the_server_says(&mut self) {
        let findings = self.verdict.breaks.iter_mut().take(1).chain(&mut self.verdict.faults);
        for finding in findings {
            server_says(finding, self.later);
        }
    }
}

/// Puts the server's reason beside ours.
pub(super) fn server_says(finding: &mut Finding, later: &Observation<'_>) {
    let Some(reason) = &later.server_reason else {
        return;
    };
    let agrees = finding.kind.row().server.contains(&reason.as_str());
    let says_nothing = matches!(
        reason.as_str(),
        "unavailable" | "pending" | "previous_message_not_found" | "comparison_response_not_found"
    );
    finding.agrees = (agrees || !says_nothing).then_some(agrees);
    finding.server_reason = Some(reason.clone());
}

/// The client's side of two requests.
struct Client {
    /// How its own two requests differ.
    kinds: Vec<Kind>,
    /// The system messages inside its conversation.
    notes: Vec<String>,
}
