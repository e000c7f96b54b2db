//! Who asks: the key says which organization and workspace.

use antefix_models::Platform;

use crate::HttpRequest;
use crate::error::ApiError;

/// Where a request comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tenant {
    pub organization: String,
    /// What caches are kept apart by.
    pub scope: String,
}

impl Tenant {
    /// Reads the key (`x-api-key` or a bearer token): `ORGANIZATION/WORKSPACE/SECRET`; any other key is an
    /// organization of its own. Caches are kept apart by organization and, on platforms Anthropic operates
    /// and Foundry, by workspace (prompt caching page, September 2026).
    pub fn of(request: &HttpRequest<'_>, platform: Platform) -> Result<Self, ApiError> {
        let bearer = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let key = request.header("x-api-key").or(bearer).unwrap_or_default().trim();
        if key.is_empty() {
            return Err(ApiError::new(401, "authentication_error", "x-api-key header is required"));
        }
        if key.starts_with("invalid") {
            return Err(ApiError::new(401, "authentication_error", "invalid x-api-key"));
        }
        let mut parts = key.splitn(3, '/');
        let organization = parts.next().unwrap_or_default().to_owned();
        let workspace = parts.next().unwrap_or_default();
        let by_workspace =
            matches!(platform, Platform::Anthropic | Platform::ClaudeOnAws | Platform::Foundry);
        let scope = if by_workspace { format!("{organization}/{workspace}") } else { organization.clone() };
        Ok(Self { organization, scope })
    }
}
