// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {Engine} from "../OffChain.sol";
import {EngineList} from "../EngineList.sol";

/// Who owns which secret, what each engine's share must hash to, and when shares may be downloaded.
/// No share is ever on the chain: owners bring them to the engines over HTTP, and fetch them there.
///
/// The life of a sharing: registerSharing by the owner; registerShared or registerAllShared by each engine that holds its share;
/// requestDownload by the owner, as often as needed; deleteSharing by the owner; registerDeleted by each engine, the
/// last of which removes it. Its id may be used again then.
contract SecretSharing is EngineList {
    /// For how long after requestDownload the engines give out their shares.
    uint64 public constant DOWNLOAD_WINDOW = 5 minutes;

    struct Sharing {
        address owner;
        uint8 threshold;
        uint64 downloadDeadline;
        bool deleting;
        /// A bit for each engine that holds its share.
        uint256 held;
        /// Where it stands in the queue.
        uint256 place;
        bytes32[] commitments;
    }

    mapping(uint128 => Sharing) private sharings;
    uint128[] private queue;

    event SharingRegistered(uint128 indexed id, address indexed owner);
    event Shared(uint128 indexed id, address indexed engine);
    event DownloadRequested(uint128 indexed id, uint64 deadline);
    event DeletionRequested(uint128 indexed id);
    event Deleted(uint128 indexed id, address indexed engine);

    constructor(Engine[] memory engines, bytes32 componentSha256, string memory componentUri)
        EngineList(engines, componentSha256, componentUri)
    {}

    /// Makes the sender the owner of a new sharing.
    /// @param id chosen at random by the owner: whoever comes first has it
    /// @param threshold how many shares give the secret back, for the clients; the contract does not use it
    /// @param commitments SHA-256 of each engine's share, in the order of engines()
    function registerSharing(uint128 id, uint8 threshold, bytes32[] calldata commitments) external {
        Sharing storage sharing_ = sharings[id];
        require(sharing_.owner == address(0), "the id is in use");
        require(commitments.length == engineCount(), "one commitment for each engine is needed");
        require(threshold > 0 && threshold <= commitments.length, "the threshold is not between 1 and the number of engines");
        sharing_.owner = msg.sender;
        sharing_.threshold = threshold;
        sharing_.commitments = commitments;
        emit SharingRegistered(id, msg.sender);
    }

    /// The sending engine holds its share. To say so again changes nothing.
    function registerShared(uint128 id) external {
        uint256 index = callingEngine();
        Sharing storage sharing_ = known(id);
        require(!sharing_.deleting, "the sharing is being deleted");
        if (!holds(sharing_, index)) hold(sharing_, id, index);
    }

    /// The sending engine holds its share of each. What registerShared would refuse is left out, and keeps none of the others waiting.
    function registerAllShared(uint128[] calldata ids) external {
        uint256 index = callingEngine();
        for (uint256 i = 0; i < ids.length; i++) {
            Sharing storage sharing_ = sharings[ids[i]];
            if (awaits(sharing_, index)) hold(sharing_, ids[i], index);
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
        sharing_.deleting = true;
        sharing_.downloadDeadline = 0;
        sharing_.place = queue.length;
        queue.push(id);
        emit DeletionRequested(id);
    }

    /// The sending engine holds its share no more. To say so again changes nothing, as long as others have not.
    function registerDeleted(uint128 id) external {
        uint256 index = callingEngine();
        Sharing storage sharing_ = known(id);
        require(sharing_.deleting, "nobody asked to delete the sharing");
        if (!holds(sharing_, index)) return;
        sharing_.held &= ~(1 << index);
        if (sharing_.held == 0) {
            leaveQueue(sharing_.place);
            delete sharings[id];
        }
        emit Deleted(id, msg.sender);
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
        uploaded = new bool[](sharing_.commitments.length);
        for (uint256 i = 0; i < uploaded.length; i++) uploaded[i] = holds(sharing_, i);
        return (
            sharing_.owner,
            sharing_.threshold,
            sharing_.commitments,
            uploaded,
            sharing_.downloadDeadline,
            sharing_.deleting
        );
    }

    /// What one of the engines has to know of a sharing; all zero when there is none.
    function share(uint128 id, address engine)
        external
        view
        returns (address owner, bytes32 commitment, bool uploaded, uint64 downloadDeadline, bool deleting)
    {
        uint256 index = indexOf(engine);
        Sharing storage sharing_ = sharings[id];
        owner = sharing_.owner;
        if (owner == address(0)) return (owner, commitment, uploaded, downloadDeadline, deleting);
        return (owner, sharing_.commitments[index], holds(sharing_, index), sharing_.downloadDeadline, sharing_.deleting);
    }

    /// Those of the ids for which this contract has not heard from an engine that it holds its share, and would like to.
    function awaited(address engine, uint128[] calldata ids) external view returns (uint128[] memory found) {
        uint256 index = indexOf(engine);
        found = new uint128[](ids.length);
        uint256 count = 0;
        for (uint256 i = 0; i < ids.length; i++) {
            if (awaits(sharings[ids[i]], index)) found[count++] = ids[i];
        }
        assembly {
            mstore(found, count)
        }
    }

    /// The sharings that are being deleted, in no order.
    function deletionQueue() external view returns (uint128[] memory) {
        return queue;
    }

    function holds(Sharing storage sharing_, uint256 index) private view returns (bool) {
        return sharing_.held & (1 << index) != 0;
    }

    function awaits(Sharing storage sharing_, uint256 index) private view returns (bool) {
        return sharing_.owner != address(0) && !sharing_.deleting && !holds(sharing_, index);
    }

    function hold(Sharing storage sharing_, uint128 id, uint256 index) private {
        sharing_.held |= 1 << index;
        emit Shared(id, msg.sender);
    }

    function known(uint128 id) private view returns (Sharing storage sharing_) {
        sharing_ = sharings[id];
        require(sharing_.owner != address(0), "there is no such sharing");
    }

    function ownedAndComplete(uint128 id) private view returns (Sharing storage sharing_) {
        sharing_ = known(id);
        require(sharing_.owner == msg.sender, "the sender is not the owner");
        require(!sharing_.deleting, "the sharing is being deleted");
        require(sharing_.held == (1 << engineCount()) - 1, "not every engine has its share yet");
    }

    function leaveQueue(uint256 place) private {
        uint128 last = queue[queue.length - 1];
        queue[place] = last;
        sharings[last].place = place;
        queue.pop();
    }
}
