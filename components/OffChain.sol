// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// An execution engine that runs the component of a contract, and where clients reach it.
struct Engine {
    address engine;
    string endpoint;
}

/// What a contract with an off-chain component says of itself. An engine asks this, and so does every client.
/// Whatever event the contract emits wakes its component in each engine.
interface OffChain {
    /// The engines that run the component.
    function engines() external view returns (Engine[] memory);

    /// SHA-256 of the component's bytes, and where they may be fetched.
    function component() external view returns (bytes32 sha256, string memory uri);
}
