// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {Engine} from "../OffChain.sol";
import {EngineList} from "../EngineList.sol";

/// Who owns which secret, what each engine's share must hash to, and when shares may be downloaded.
/// No share is ever on the chain: owners bring them to the engines over HTTP, and fetch them there.
///
/// The life of a sharing: registerSharing by the owner; registerShared or registerAllShared by each engine that holds its share;
/// requestDownload by the owner, as often as needed; deleteSharing by the owner; registerDeleted or registerAllDeleted by each
/// engine, the last of which removes it. Its id may be used again then, and where the chain takes back blocks it may belong to
/// somebody else on the chain that stays: a ticket says which sharing of an id is meant (uint128: its registration, a digest of
/// owner, commitments and the block before; uint128: the id), so that what an engine says late, or of another chain, is never
/// taken for the next.
contract SecretSharing is EngineList {
    /// For how long after requestDownload the engines give out their shares.
    uint64 public constant DOWNLOAD_WINDOW = 5 minutes;

    /// As many as have a bit in `held`.
    uint256 private constant MOST_ENGINES = 120;

    enum Stage {
        None,
        Registered,
        Deleting
    }

    struct Sharing {
        address owner;
        uint8 threshold;
        uint64 downloadDeadline;
        /// Never the same twice for an id. From here to `held` is one word: all that a confirmation reads, and what it writes.
        uint128 registration;
        /// With None, whatever else is here is of a sharing that was removed. That nothing is cleared then makes it no dearer to
        /// be the last engine that has deleted its share: what it takes is known before the others have said so.
        Stage stage;
        /// A bit for each engine that holds its share.
        uint120 held;
        /// Where it stands in `deletions`.
        uint256 place;
        bytes32[] commitments;
    }

    /// A run of deletions that an engine has confirmed, next to one that it has not: how many are before and beyond it.
    struct Gap {
        uint128 before;
        uint128 beyond;
    }

    mapping(uint128 => Sharing) private sharings;
    /// Tickets, in the order in which their deletion was asked for. None is ever taken out.
    uint256[] private deletions;
    /// By the place of an engine in the list: the first of `deletions` that it has still before it, and the gaps beside those.
    mapping(uint256 => uint256) private first;
    mapping(uint256 => mapping(uint256 => Gap)) private gaps;

    event SharingRegistered(uint128 indexed id, address indexed owner);
    event Shared(uint128 indexed id, address indexed engine);
    event DownloadRequested(uint128 indexed id, uint64 deadline);
    event DeletionRequested(uint128 indexed id);
    event Deleted(uint128 indexed id, address indexed engine);

    constructor(Engine[] memory engines, bytes32 componentSha256, string memory componentUri)
        EngineList(engines, componentSha256, componentUri)
    {
        require(engines.length <= MOST_ENGINES, "120 engines at most");
    }

    /// Makes the sender the owner of a new sharing.
    /// @param id chosen at random by the owner: whoever comes first has it
    /// @param threshold how many shares give the secret back, for the clients; the contract does not use it
    /// @param commitments SHA-256 of each engine's share, in the order of engines()
    function registerSharing(uint128 id, uint8 threshold, bytes32[] calldata commitments) external {
        Sharing storage sharing_ = sharings[id];
        require(sharing_.stage == Stage.None, "the id is in use");
        require(commitments.length == engineCount(), "one commitment for each engine is needed");
        require(threshold > 0 && threshold <= commitments.length, "the threshold is not between 1 and the number of engines");
        sharing_.owner = msg.sender;
        sharing_.threshold = threshold;
        sharing_.registration = newRegistration(id, threshold, commitments);
        sharing_.stage = Stage.Registered;
        sharing_.commitments = commitments;
        emit SharingRegistered(id, msg.sender);
    }

    /// The sending engine holds its share. To say so again changes nothing.
    function registerShared(uint128 id) external {
        uint256 index = callingEngine();
        Sharing storage sharing_ = known(id);
        require(sharing_.stage == Stage.Registered, "the sharing is being deleted");
        if (!holds(sharing_, index)) hold(sharing_, id, index);
    }

    /// The sending engine holds its share of each. What registerShared would refuse, or was meant for an earlier registration, is left
    /// out, and keeps none of the others waiting.
    function registerAllShared(uint256[] calldata tickets) external {
        uint256 index = callingEngine();
        for (uint256 i = 0; i < tickets.length; i++) {
            Sharing storage sharing_ = sharings[uint128(tickets[i])];
            if (awaits(sharing_, tickets[i], index)) hold(sharing_, uint128(tickets[i]), index);
        }
    }

    /// Opens the window for downloads, or opens it anew. That the owner asked stays on the chain.
    function requestDownload(uint128 id) external {
        Sharing storage sharing_ = ownedAndComplete(id);
        sharing_.downloadDeadline = uint64(block.timestamp) + DOWNLOAD_WINDOW;
        emit DownloadRequested(id, sharing_.downloadDeadline);
    }

    /// Asks every engine to forget its share. From here on nothing else can be asked of this sharing.
    function deleteSharing(uint128 id) external {
        Sharing storage sharing_ = ownedAndComplete(id);
        sharing_.stage = Stage.Deleting;
        sharing_.downloadDeadline = 0;
        sharing_.place = deletions.length;
        deletions.push(ticketOf(sharing_, id));
        emit DeletionRequested(id);
    }

    /// The sending engine holds its share no more. To say so again changes nothing, as long as others have not.
    function registerDeleted(uint128 id) external {
        uint256 index = callingEngine();
        Sharing storage sharing_ = known(id);
        require(sharing_.stage == Stage.Deleting, "nobody asked to delete the sharing");
        if (holds(sharing_, index)) forget(sharing_, id, index);
    }

    /// The sending engine holds none of these shares any more. What registerDeleted would refuse, or was meant for an earlier
    /// registration, is left out.
    function registerAllDeleted(uint256[] calldata tickets) external {
        uint256 index = callingEngine();
        for (uint256 i = 0; i < tickets.length; i++) {
            Sharing storage sharing_ = sharings[uint128(tickets[i])];
            if (isAt(sharing_, Stage.Deleting, tickets[i]) && holds(sharing_, index)) {
                forget(sharing_, uint128(tickets[i]), index);
            }
        }
    }

    /// All zero and empty when there is no such sharing.
    /// @return owner who may upload, download and delete
    /// @return threshold how many shares give the secret back
    /// @return commitments SHA-256 of each engine's share
    /// @return uploaded which engines say that they hold their share; falls again while it is being deleted
    /// @return downloadDeadline the last second of the window, in seconds since 1970; 0 when none was asked for
    /// @return deleting whether the owner asked to delete it
    function sharing(uint128 id)
        external
        view
        returns (
            address owner,
            uint8 threshold,
            bytes32[] memory commitments,
            bool[] memory uploaded,
            uint64 downloadDeadline,
            bool deleting
        )
    {
        Sharing storage sharing_ = sharings[id];
        if (sharing_.stage == Stage.None) return (owner, threshold, commitments, uploaded, downloadDeadline, deleting);
        owner = sharing_.owner;
        threshold = sharing_.threshold;
        commitments = sharing_.commitments;
        uploaded = new bool[](commitments.length);
        for (uint256 i = 0; i < uploaded.length; i++) uploaded[i] = holds(sharing_, i);
        downloadDeadline = sharing_.downloadDeadline;
        deleting = sharing_.stage == Stage.Deleting;
    }

    /// What one of the engines has to know of a sharing; all zero when there is none.
    function share(uint128 id, address engine)
        external
        view
        returns (
            address owner,
            bytes32 commitment,
            bool uploaded,
            uint64 downloadDeadline,
            bool deleting,
            uint256 ticket
        )
    {
        uint256 index = indexOf(engine);
        Sharing storage sharing_ = sharings[id];
        if (sharing_.stage == Stage.None) return (owner, commitment, uploaded, downloadDeadline, deleting, ticket);
        owner = sharing_.owner;
        commitment = sharing_.commitments[index];
        uploaded = holds(sharing_, index);
        downloadDeadline = sharing_.downloadDeadline;
        deleting = sharing_.stage == Stage.Deleting;
        ticket = ticketOf(sharing_, id);
    }

    /// Those of the tickets for which this contract has not heard from an engine that it holds its share, and would like to.
    function awaited(address engine, uint256[] calldata tickets) external view returns (uint256[] memory found) {
        uint256 index = indexOf(engine);
        found = new uint256[](tickets.length);
        uint256 count = 0;
        for (uint256 i = 0; i < tickets.length; i++) {
            if (awaits(sharings[uint128(tickets[i])], tickets[i], index)) found[count++] = tickets[i];
        }
        assembly {
            mstore(found, count)
        }
    }

    /// The tickets of sharings whose deletion was asked for, and of which an engine has not said that its share is gone: of the oldest
    /// from a place on, and no more than `most`. Gas is taken for so many, however many there are.
    /// @param from 0 for the oldest; or `next` of an answer, to go on behind it before the contract has heard of what was in it
    /// @return tickets fewer than `most` where there is nothing behind them
    /// @return next the place behind them
    function toDelete(address engine, uint256 from, uint256 most)
        external
        view
        returns (uint256[] memory tickets, uint256 next)
    {
        uint256 index = indexOf(engine);
        next = from > first[index] ? from : first[index];
        uint256 left = next < deletions.length ? deletions.length - next : 0;
        tickets = new uint256[](most < left ? most : left);
        uint256 count = 0;
        while (count < tickets.length && next < deletions.length) {
            uint256 ticket = deletions[next];
            next += 1 + gaps[index][next].beyond;
            Sharing storage sharing_ = sharings[uint128(ticket)];
            // The engine may have said so since it was told of the place to begin at.
            if (isAt(sharing_, Stage.Deleting, ticket) && holds(sharing_, index)) tickets[count++] = ticket;
        }
        assembly {
            mstore(tickets, count)
        }
    }

    /// By the registration before it, no id has one twice in a block; by the sender and the commitments, no two blocks of chains
    /// that went apart have the same one for different sharings.
    function newRegistration(uint128 id, uint8 threshold, bytes32[] calldata commitments) private view returns (uint128) {
        bytes32 parent = blockhash(block.number - 1);
        bytes32 digest = keccak256(
            abi.encode(id, sharings[id].registration, msg.sender, threshold, commitments, parent, block.timestamp)
        );
        return uint128(uint256(digest));
    }

    function ticketOf(Sharing storage sharing_, uint128 id) private view returns (uint256) {
        return (uint256(sharing_.registration) << 128) | id;
    }

    /// Whether it is the sharing which the ticket was given for, and at that stage.
    function isAt(Sharing storage sharing_, Stage stage, uint256 ticket) private view returns (bool) {
        return sharing_.stage == stage && sharing_.registration == ticket >> 128;
    }

    function holds(Sharing storage sharing_, uint256 index) private view returns (bool) {
        return sharing_.held & (1 << index) != 0;
    }

    function awaits(Sharing storage sharing_, uint256 ticket, uint256 index) private view returns (bool) {
        return isAt(sharing_, Stage.Registered, ticket) && !holds(sharing_, index);
    }

    function hold(Sharing storage sharing_, uint128 id, uint256 index) private {
        sharing_.held |= uint120(1 << index);
        emit Shared(id, msg.sender);
    }

    function forget(Sharing storage sharing_, uint128 id, uint256 index) private {
        sharing_.held &= ~uint120(1 << index);
        if (sharing_.held == 0) sharing_.stage = Stage.None;
        passOver(sharing_.place, index);
        emit Deleted(id, msg.sender);
    }

    /// The engine at `index` has that deletion behind it: a few words are written, wherever it stands.
    function passOver(uint256 place, uint256 index) private {
        Gap storage gap = gaps[index][place];
        uint256 next = place + 1 + gap.beyond;
        if (place == first[index]) {
            first[index] = next;
            return;
        }
        uint128 length = gap.before + 1 + gap.beyond;
        gaps[index][place - 1 - gap.before].beyond = length;
        gaps[index][next].before = length;
    }

    function known(uint128 id) private view returns (Sharing storage sharing_) {
        sharing_ = sharings[id];
        require(sharing_.stage != Stage.None, "there is no such sharing");
    }

    function ownedAndComplete(uint128 id) private view returns (Sharing storage sharing_) {
        sharing_ = known(id);
        require(sharing_.owner == msg.sender, "the sender is not the owner");
        require(sharing_.stage == Stage.Registered, "the sharing is being deleted");
        require(sharing_.held == (1 << engineCount()) - 1, "not every engine has its share yet");
    }
}
