// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {Engine} from "../OffChain.sol";
import {EngineList} from "../EngineList.sol";

/// The smallest contract with an off-chain component: it names its engines, and remembers a greeting.
contract Hello is EngineList {
    string public greeting = "Hello";

    event GreetingChanged(string greeting);

    constructor(Engine[] memory engines, bytes32 componentSha256, string memory componentUri)
        EngineList(engines, componentSha256, componentUri)
    {}

    /// Anyone may. The event wakes the component.
    function setGreeting(string calldata greeting_) external {
        require(bytes(greeting_).length <= 200, "a greeting has 200 bytes at most");
        greeting = greeting_;
        emit GreetingChanged(greeting_);
    }
}
