// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {Engine} from "../OffChain.sol";
import {EngineList} from "../EngineList.sol";

/// Signing keys that no engine has: each has a share, and a threshold of them signs together (FROST, Ed25519).
/// The contract carries the messages of the key generation between the engines, and says who may sign what.
///
/// The life of a key: createKey by its owner; publishCommitments, then publishShares, then confirm by each engine;
/// from then on it signs, as its policy says, until the owner disables it. An engine that finds another at fault
/// complains instead, and the key has failed for good: all engines are needed to make a key, a threshold to use it.
///
/// Where the chain takes back blocks, the same id can belong to somebody else on the chain that stays. So each key has a
/// registration, a digest of who asked for it and of the block before: engines keep what they have by it, and name it in
/// all that they say.
contract KeyManagement is EngineList {
    /// As many as make a key of all of them, and sign with it, well within the times that engines give their components.
    uint256 private constant MOST_ENGINES = 16;

    enum Status {
        Unknown,
        Commitments,
        Shares,
        Confirmation,
        Active,
        Failed,
        Disabled
    }

    /// Who may have what signed.
    struct Policy {
        /// Accounts that may ask the engines to sign.
        address[] signers;
        /// The last second in which they may, in seconds since 1970; 0 for no end.
        uint64 notAfter;
        /// How many signature shares each engine gives in a day (UTC); 0 for no limit.
        uint32 sharesPerDay;
        /// What every message must begin with.
        bytes prefix;
    }

    struct Key {
        address owner;
        uint8 threshold;
        Status status;
        bytes32 registration;
        /// How many engines have done what the status asks of each.
        uint8 done;
        address accuser;
        address accused;
        bytes32 publicKey;
        string reason;
        Policy policy;
        bytes[] commitments;
        mapping(uint256 => bytes[]) shares;
        bool[] confirmed;
    }

    /// A key that has come to another status. Of a key that has gone on since, only the last is of use.
    struct Change {
        /// How many changes there are up to this one.
        uint256 count;
        /// What stands in the list of changes: the key (uint128), its status (uint8), and a digest of all up to this one (uint120).
        uint256 entry;
        bytes32 registration;
        uint8 threshold;
    }

    /// A key at a status, for which an engine has sent what it had to say.
    struct Step {
        uint128 id;
        bytes32 registration;
        Status status;
    }

    mapping(uint128 => Key) private keys;
    /// Every change of a status, oldest first. None is ever taken out: an engine remembers how far it has read.
    uint256[] private changes;

    event KeyCreated(uint128 indexed id, address indexed owner, uint8 threshold);
    event CommitmentsPublished(uint128 indexed id, address indexed engine);
    event SharesPublished(uint128 indexed id, address indexed engine);
    event Confirmed(uint128 indexed id, address indexed engine);
    event KeyActive(uint128 indexed id, bytes32 publicKey);
    event KeyFailed(uint128 indexed id, address indexed accuser, address indexed accused, string reason);
    event PolicyChanged(uint128 indexed id);
    event KeyDisabled(uint128 indexed id);

    constructor(Engine[] memory engines, bytes32 componentSha256, string memory componentUri)
        EngineList(engines, componentSha256, componentUri)
    {
        require(engines.length > 1, "a threshold key needs 2 engines or more");
        require(engines.length <= MOST_ENGINES, "16 engines at most");
    }

    /// Asks the engines to make a key, which belongs to the sender.
    /// @param threshold how many engines it takes to sign: from 2 to all
    function createKey(uint128 id, uint8 threshold, Policy calldata policy_) external {
        Key storage key_ = keys[id];
        require(key_.status == Status.Unknown, "the id is in use");
        require(threshold > 1 && threshold <= engineCount(), "the threshold is not between 2 and the number of engines");
        key_.owner = msg.sender;
        key_.threshold = threshold;
        key_.registration = keccak256(
            abi.encode(id, msg.sender, threshold, blockhash(block.number - 1), block.timestamp)
        );
        key_.status = Status.Commitments;
        key_.commitments = new bytes[](engineCount());
        key_.confirmed = new bool[](engineCount());
        store(key_, policy_);
        noteChange(key_, id);
        emit KeyCreated(id, msg.sender, threshold);
    }

    /// Round 1 of an engine: the X25519 key that shares for it are to be encrypted to (32 bytes), the commitments to
    /// its polynomial (32 each) and its proof of knowledge (64). The same again changes nothing.
    function publishCommitments(uint128 id, bytes32 registration, bytes calldata package) external {
        uint256 index = callingEngine();
        Key storage key_ = registered(id, registration);
        bytes storage published = key_.commitments[index];
        if (published.length > 0) {
            require(keccak256(published) == keccak256(package), "this engine has published other commitments");
            return;
        }
        require(key_.status == Status.Commitments, "the key does not wait for commitments");
        require(package.length == 96 + 32 * uint256(key_.threshold), "the package has the wrong length");
        key_.commitments[index] = package;
        advance(key_, id, Status.Shares);
        emit CommitmentsPublished(id, msg.sender);
    }

    /// Round 2 of an engine: for each engine its share, encrypted to it (48 bytes); nothing for itself.
    /// The same again changes nothing.
    function publishShares(uint128 id, bytes32 registration, bytes[] calldata encrypted) external {
        uint256 index = callingEngine();
        Key storage key_ = registered(id, registration);
        bytes[] storage published = key_.shares[index];
        if (published.length > 0) {
            require(
                keccak256(abi.encode(published)) == keccak256(abi.encode(encrypted)),
                "this engine has published other shares"
            );
            return;
        }
        require(key_.status == Status.Shares, "the key does not wait for shares");
        require(encrypted.length == engineCount(), "one share for each engine is needed");
        for (uint256 i = 0; i < encrypted.length; i++) {
            require(encrypted[i].length == (i == index ? 0 : 48), "a share has the wrong length");
            published.push(encrypted[i]);
        }
        advance(key_, id, Status.Confirmation);
        emit SharesPublished(id, msg.sender);
    }

    /// The sending engine has its share of the key, whose public half is this. The last one makes the key usable; one
    /// that differs from the others makes it fail.
    function confirm(uint128 id, bytes32 registration, bytes32 publicKey) external {
        uint256 index = callingEngine();
        Key storage key_ = registered(id, registration);
        if (key_.confirmed[index]) {
            require(key_.publicKey == publicKey, "this engine has confirmed another public key");
            return;
        }
        require(key_.status == Status.Confirmation, "the key does not wait for confirmations");
        require(publicKey != 0, "there is no public key");
        if (key_.publicKey != 0 && key_.publicKey != publicKey) {
            fail(id, address(0), "the engines do not agree on the public key");
            return;
        }
        key_.publicKey = publicKey;
        key_.confirmed[index] = true;
        advance(key_, id, Status.Active);
        emit Confirmed(id, msg.sender);
        if (key_.status == Status.Active) {
            emit KeyActive(id, publicKey);
        }
    }

    /// The sending engine finds that another, or itself, cannot go on. The key has failed, and who said so is recorded;
    /// nobody judges who is right.
    function complain(uint128 id, bytes32 registration, address accused, string calldata reason) external {
        callingEngine();
        Status status = registered(id, registration).status;
        require(
            status == Status.Commitments || status == Status.Shares || status == Status.Confirmation,
            "the key is not being made"
        );
        require(bytes(reason).length <= 200, "a reason has 200 bytes at most");
        fail(id, accused, reason);
    }

    /// Holds from the block that it is in.
    function setPolicy(uint128 id, Policy calldata policy_) external {
        store(owned(id), policy_);
        emit PolicyChanged(id);
    }

    /// For good: the engines make no more signatures with it, and forget their shares.
    function disable(uint128 id) external {
        Key storage key_ = owned(id);
        key_.status = Status.Disabled;
        noteChange(key_, id);
        emit KeyDisabled(id);
    }

    /// All zero when there is no such key.
    /// No other key has the same registration, also where the chain takes back blocks and the id is used anew.
    function key(uint128 id)
        external
        view
        returns (
            address owner,
            uint8 threshold,
            Status status,
            bytes32 publicKey,
            address accuser,
            address accused,
            string memory reason,
            bytes32 registration
        )
    {
        Key storage key_ = keys[id];
        bool usable = key_.status == Status.Active || key_.status == Status.Disabled;
        return (
            key_.owner,
            key_.threshold,
            key_.status,
            usable ? key_.publicKey : bytes32(0),
            key_.accuser,
            key_.accused,
            key_.reason,
            key_.registration
        );
    }

    function policy(uint128 id)
        external
        view
        returns (address[] memory signers, uint64 notAfter, uint32 sharesPerDay, bytes memory prefix)
    {
        Policy storage policy_ = keys[id].policy;
        return (policy_.signers, policy_.notAfter, policy_.sharesPerDay, policy_.prefix);
    }

    /// What each engine published in round 1; empty for those that have not.
    function commitments(uint128 id) external view returns (bytes[] memory) {
        return keys[id].commitments;
    }

    /// What each engine encrypted to one of them in round 2; empty for those that have not.
    function sharesFor(uint128 id, uint256 engine) external view returns (bytes[] memory encrypted) {
        encrypted = new bytes[](engineCount());
        for (uint256 i = 0; i < encrypted.length; i++) {
            bytes[] storage published = keys[id].shares[i];
            if (engine < published.length) encrypted[i] = published[engine];
        }
    }

    /// Which engines have confirmed.
    function confirmations(uint128 id) external view returns (bool[] memory) {
        return keys[id].confirmed;
    }

    /// What has changed since an engine looked last, and is so still: of the next `most` changes, those that were not followed by
    /// another of the same key. Gas is taken for so many, however many keys there are.
    /// @param seen how many changes it has seen
    /// @param last the entry of the last of them: where another stands in its place, the chain took back blocks, and all is told anew
    /// @return found the changes, oldest first
    /// @return count how many changes there are up to the end of those that were looked through
    /// @return entry the entry of the last of these
    /// @return more whether there are others after them
    function changesAfter(uint256 seen, uint256 last, uint256 most)
        external
        view
        returns (Change[] memory found, uint256 count, uint256 entry, bool more)
    {
        count = seen > 0 && seen <= changes.length && changes[seen - 1] == last ? seen : 0;
        uint256 left = changes.length - count;
        found = new Change[](most < left ? most : left);
        more = most < left;
        uint256 size = 0;
        for (uint256 i = found.length; i > 0; i--) {
            entry = changes[count++];
            Key storage key_ = keys[uint128(entry >> 128)];
            if (uint8(entry >> 120) == uint8(key_.status)) {
                found[size++] = Change(count, entry, key_.registration, key_.threshold);
            }
        }
        if (count > 0) entry = changes[count - 1];
        assembly {
            mstore(found, size)
        }
    }

    /// Those of the steps that this contract still waits for an engine to take: by their places.
    function awaited(address engine, Step[] calldata steps) external view returns (uint256[] memory places) {
        uint256 index = indexOf(engine);
        places = new uint256[](steps.length);
        uint256 size = 0;
        for (uint256 i = 0; i < steps.length; i++) {
            Key storage key_ = keys[steps[i].id];
            if (key_.registration != steps[i].registration || key_.status != steps[i].status) continue;
            if (!hasDone(key_, index)) places[size++] = i;
        }
        assembly {
            mstore(places, size)
        }
    }

    /// Whether an engine has done what the status of a key asks of each; true for a status that asks nothing of engines.
    function hasDone(Key storage key_, uint256 index) private view returns (bool) {
        if (key_.status == Status.Commitments) return key_.commitments[index].length > 0;
        if (key_.status == Status.Shares) return key_.shares[index].length > 0;
        return key_.status != Status.Confirmation || key_.confirmed[index];
    }

    function known(uint128 id) private view returns (Key storage key_) {
        key_ = keys[id];
        require(key_.status != Status.Unknown, "there is no such key");
    }

    function registered(uint128 id, bytes32 registration) private view returns (Key storage key_) {
        key_ = known(id);
        require(key_.registration == registration, "the id belongs to another registration");
    }

    function owned(uint128 id) private view returns (Key storage key_) {
        key_ = known(id);
        require(key_.owner == msg.sender, "the sender is not the owner");
        require(key_.status != Status.Failed && key_.status != Status.Disabled, "the key has failed or is disabled");
    }

    function advance(Key storage key_, uint128 id, Status next) private {
        key_.done++;
        if (key_.done < engineCount()) return;
        key_.done = 0;
        key_.status = next;
        noteChange(key_, id);
    }

    /// The digest tells an engine whether what it has seen is of the chain that it sees now.
    function noteChange(Key storage key_, uint128 id) private {
        uint256 before = changes.length == 0 ? 0 : changes[changes.length - 1];
        uint256 entry = (uint256(id) << 128) | (uint256(key_.status) << 120);
        changes.push(entry | uint120(uint256(keccak256(abi.encode(before, entry, key_.registration)))));
    }

    function fail(uint128 id, address accused, string memory reason) private {
        Key storage key_ = keys[id];
        key_.status = Status.Failed;
        key_.accuser = msg.sender;
        key_.accused = accused;
        key_.reason = reason;
        noteChange(key_, id);
        emit KeyFailed(id, msg.sender, accused, reason);
    }

    function store(Key storage key_, Policy calldata policy_) private {
        require(policy_.signers.length <= 64, "a policy has 64 signers at most");
        require(policy_.prefix.length <= 256, "a prefix has 256 bytes at most");
        key_.policy = policy_;
    }
}
