//! Cache markers: where they may stand, how many, in which order, and the automatic one.

use antefix_models::{Rules, Support, Ttl};

use crate::error::ApiError;
use crate::render::Rendered;
use crate::request::{Block, Marker, Request};

/// A marker on a block that cannot carry one.
pub(crate) fn check_block(block: &Block) -> Result<(), ApiError> {
    let Some(marker) = block.markers.first() else { return Ok(()) };
    if block.markable() {
        return Ok(());
    }
    let problem = match block.kind.as_str() {
        "text" => "cache_control cannot be set for empty text blocks",
        _ => "Extra inputs are not permitted",
    };
    Err(ApiError::invalid(format!("{}: {problem}", marker.path)))
}

/// The marked blocks in rendering order, the automatic marker included.
pub(crate) fn markers(
    request: &Request,
    blocks: &[Rendered],
    rules: &Rules,
) -> Result<Vec<(usize, Ttl)>, ApiError> {
    let mut markers: Vec<(usize, Marker)> = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        markers.extend(block.markers.iter().map(|marker| (index, marker.clone())));
    }
    check_number(markers.len(), rules)?;
    if let Some(automatic) = &request.automatic {
        add_automatic(automatic, &mut markers, blocks, rules)?;
    }
    check_order(&markers)?;
    let mut marked: Vec<(usize, Ttl)> = Vec::new();
    for (index, marker) in markers {
        // Of several markers inside one block the first has the longest TTL, as their order demands.
        if marked.last().is_none_or(|&(last, _)| last != index) {
            marked.push((index, marker.ttl));
        }
    }
    Ok(marked)
}

/// Puts the automatic marker on the last block that can carry one; without such a block nothing happens.
fn add_automatic(
    automatic: &Marker,
    markers: &mut Vec<(usize, Marker)>,
    blocks: &[Rendered],
    rules: &Rules,
) -> Result<(), ApiError> {
    if rules.automatic_marker == Support::No {
        return Err(ApiError::invalid("cache_control: Extra inputs are not permitted"));
    }
    let Some(target) = blocks.iter().rposition(|block| block.markable) else { return Ok(()) };
    if let Some((_, explicit)) = markers.iter().find(|(index, _)| *index == target) {
        if explicit.ttl == automatic.ttl {
            return Ok(());
        }
        return Err(ApiError::invalid(format!(
            "cache_control: the last cacheable block already has a cache_control with another ttl ({})",
            explicit.path
        )));
    }
    check_number(markers.len() + 1, rules)?;
    markers.push((target, automatic.clone()));
    markers.sort_by_key(|(index, _)| *index);
    Ok(())
}

fn check_number(found: usize, rules: &Rules) -> Result<(), ApiError> {
    let limit = rules.max_markers;
    if found <= limit as usize {
        return Ok(());
    }
    Err(ApiError::invalid(format!(
        "A maximum of {limit} blocks with cache_control may be provided. Found {found}."
    )))
}

/// Every 1h marker stands before every 5m marker.
fn check_order(markers: &[(usize, Marker)]) -> Result<(), ApiError> {
    let first_short = markers.iter().position(|(_, marker)| marker.ttl == Ttl::FiveMinutes);
    let late = markers.iter().skip(first_short.unwrap_or(markers.len()));
    match late.into_iter().find(|(_, marker)| marker.ttl == Ttl::OneHour) {
        None => Ok(()),
        Some((_, marker)) => Err(ApiError::invalid(format!(
            "{}.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. \
             Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
            marker.path
        ))),
    }
}
