// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

/// A node that runs the off-chain component of a contract. `endpoint` is where it answers, as in
/// https://engine.example, or empty.
struct Engine {
    address engine;
    string endpoint;
}

/// What a contract says so that execution engines run its off-chain component. Any event that the contract emits in a
/// block wakes its components; what changes without one is not noticed.
interface OffChain {
    /// Who runs the component, in an order that the contract may give a meaning.
    function engines() external view returns (Engine[] memory);

    /// The SHA-256 of the component's bytes, and where they may be fetched (empty: engines have them already).
    /// 32 bytes of zero: it has none.
    function component() external view returns (bytes32 sha256, string memory uri);
}
