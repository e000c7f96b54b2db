use std::process::ExitCode;

use antefix_models::{Platform, Tokens, Ttl, rules};
use antefix_prefix::{
    CachePlan, PlanInput, Position, PositionKind, Section, Segment, plan as plan_markers, positions,
};
use antefix_wire::anthropic::{Request, Ttl as WireTtl};

use super::diff::body;
use crate::cli::PlanArgs;
use crate::failure::Failure;
use crate::out::{prose, say};
use crate::stream_json::{Object, SCHEMA_VERSION, array};
use crate::table::Table;
use crate::text::grouped;

/// `antefix plan`
pub fn plan(args: &PlanArgs) -> Result<ExitCode, Failure> {
    let body = body(&args.body)?;
    let request = Request::read(body.root()).map_err(Failure::usage)?;
    let known = Platform::from_name(&args.platform).filter(|known| Platform::MESSAGES.contains(known));
    let platform = known.ok_or_else(|| {
        let names: Vec<_> = Platform::MESSAGES.iter().map(|platform| platform.name()).collect();
        Failure::usage(format!("there is no platform `{}`", args.platform)).hint(names.join(", "))
    })?;
    let model = request.model.clone().unwrap_or_default();
    let rules = rules(platform, &model);
    let positions = positions(&request);
    let tokens = |position: &Position| Tokens::of_bytes(position.range.len() as u64);
    let segments: Vec<Segment> =
        positions.iter().map(|position| Segment::of(position, tokens(position))).collect();
    let confirmed = match args.confirmed {
        Some(count) if count > segments.len() => {
            return Err(Failure::usage(format!("the request has {} positions, not {count}", segments.len())));
        }
        count => count.and_then(|count| count.checked_sub(1)),
    };
    let head = positions.iter().rposition(|position| position.section != Section::Messages);
    let plan = plan_markers(&PlanInput {
        segments: &segments,
        rules: &rules,
        static_head: head,
        confirmed,
        doubtful: None,
        ttl: Ttl::FiveMinutes,
        head_ttl: Ttl::FiveMinutes,
    });
    if args.json {
        say!("{}", json(&positions, &segments, &plan));
        return Ok(ExitCode::SUCCESS);
    }
    prose!("model {}, {} positions; tokens are estimated at 3.5 bytes a token", rules.id, positions.len());
    positions_table(&positions, &segments, &plan).print();
    for note in &rules.notes {
        prose!("note: {note}");
    }
    for note in &plan.notes {
        prose!("note: {note}");
    }
    Ok(ExitCode::SUCCESS)
}

fn positions_table(positions: &[Position], segments: &[Segment], plan: &CachePlan) -> Table {
    let mut table = Table::new(&[">n", "position", "kind", ">tokens", "marker"]);
    for (index, (position, segment)) in positions.iter().zip(segments).enumerate() {
        let planned = plan.markers.iter().any(|marker| marker.position == index);
        let marker = match (planned, position.marker.is_some()) {
            (true, true) => "◆ belongs here (has one)",
            (true, false) => "◆ belongs here",
            (false, true) => "(has one)",
            (false, false) => "",
        };
        table.line([
            index.to_string(),
            position.pointer(),
            kind(position.kind),
            grouped(segment.tokens.0),
            marker.to_owned(),
        ]);
    }
    table
}

fn kind(kind: PositionKind) -> String {
    match kind {
        PositionKind::Tool => "tool".to_owned(),
        PositionKind::Block(block) => format!("{block:?}"),
        PositionKind::EmptyMessage => "empty message".to_owned(),
    }
}

fn json(positions: &[Position], segments: &[Segment], plan: &CachePlan) -> String {
    let rows = positions.iter().zip(segments).map(|(position, segment)| {
        let mut object = Object::new();
        object.text("path", &position.pointer()).number("tokens_estimated", segment.tokens.0);
        object.boolean("markable", position.markable);
        match position.marker {
            Some(WireTtl::FiveMinutes) => object.text("marker", "5m"),
            Some(WireTtl::OneHour) => object.text("marker", "1h"),
            None => object.raw("marker", "null"),
        };
        object.text("wire", &position.wire.to_string()).text("normal", &position.normal.to_string());
        object.close()
    });
    let markers = plan.markers.iter().map(|marker| {
        let mut object = Object::new();
        object.number("position", marker.position as u64).text("ttl", marker.ttl.text());
        object.close()
    });
    let mut object = Object::new();
    object
        .number("schema_version", SCHEMA_VERSION)
        .raw("positions", &array(rows))
        .raw("markers", &array(markers));
    object.close()
}
