//! An endpoint as the decisions see it: a number, its place in the order, nothing of the network.

/// Which endpoint of a client. Never used twice in the life of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u64);

/// An endpoint as configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// Which one.
    pub id: EndpointId,
    /// Lower numbers are tried first (ruling R5).
    pub priority: u32,
}
