// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {Engine, OffChain} from "./OffChain.sol";

/// A contract whose engines and component are named when it is made, and stay.
abstract contract EngineList is OffChain {
    Engine[] private list;
    bytes32 private immutable componentSha256;
    string private componentUri;
    /// One more than the place in the list; 0 for everybody else.
    mapping(address => uint256) private places;

    constructor(Engine[] memory engines_, bytes32 componentSha256_, string memory componentUri_) {
        require(engines_.length > 0 && engines_.length < 256, "1 to 255 engines are needed");
        for (uint256 i = 0; i < engines_.length; i++) {
            require(engines_[i].engine != address(0), "an engine has no address");
            require(places[engines_[i].engine] == 0, "an engine is named twice");
            places[engines_[i].engine] = i + 1;
            list.push(engines_[i]);
        }
        componentSha256 = componentSha256_;
        componentUri = componentUri_;
    }

    function engines() external view returns (Engine[] memory) {
        return list;
    }

    function component() external view returns (bytes32, string memory) {
        return (componentSha256, componentUri);
    }

    function engineCount() internal view returns (uint256) {
        return list.length;
    }

    /// Where the sender stands in the list. Reverts for everybody who is no engine.
    function callingEngine() internal view returns (uint256) {
        require(places[msg.sender] != 0, "the sender is none of the engines");
        return places[msg.sender] - 1;
    }

    /// Where an engine stands in the list. Reverts for every other address.
    function indexOf(address engine) internal view returns (uint256) {
        require(places[engine] != 0, "that is none of the engines");
        return places[engine] - 1;
    }
}
