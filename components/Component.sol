// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {Engine, OffChain} from "./OffChain.sol";

/// The least contract that a component needs: an owner, who says which component it is and who runs it.
contract Component is OffChain {
    address public owner;
    Engine[] private _engines;
    bytes32 private _sha256;
    string private _uri;

    event EnginesChanged(uint256 count);
    event ComponentChanged(bytes32 digest, string uri);
    event Message(address indexed from, bytes data);

    error NotOwner();

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner();
        _;
    }

    constructor(Engine[] memory initialEngines, bytes32 componentSha256, string memory componentUri) {
        owner = msg.sender;
        _setEngines(initialEngines);
        _setComponent(componentSha256, componentUri);
    }

    function engines() external view returns (Engine[] memory) {
        return _engines;
    }

    function component() external view returns (bytes32, string memory) {
        return (_sha256, _uri);
    }

    function setEngines(Engine[] calldata changed) external onlyOwner {
        _setEngines(changed);
    }

    function setComponent(bytes32 componentSha256, string calldata componentUri) external onlyOwner {
        _setComponent(componentSha256, componentUri);
    }

    function transferOwnership(address to) external onlyOwner {
        owner = to;
    }

    /// Anybody may leave a message, which wakes the component.
    function post(bytes calldata data) external {
        emit Message(msg.sender, data);
    }

    function _setEngines(Engine[] memory changed) private {
        delete _engines;
        for (uint256 i = 0; i < changed.length; i++) _engines.push(changed[i]);
        emit EnginesChanged(changed.length);
    }

    function _setComponent(bytes32 componentSha256, string memory componentUri) private {
        _sha256 = componentSha256;
        _uri = componentUri;
        emit ComponentChanged(componentSha256, componentUri);
    }
}
