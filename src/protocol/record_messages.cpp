#include <array>

#include "build_table.h"
#include "millrace/protocol/records/all.h"
#include "millrace/protocol/records/registry.h"

namespace millrace::protocol {

MR_MESSAGE(AbortedTxn)
MR_MESSAGE(ConsumerProtocolAssignment)
MR_MESSAGE(ConsumerProtocolSubscription)
MR_MESSAGE(ControlRecordTypeSchema)
MR_MESSAGE(DefaultPrincipalData)
MR_MESSAGE(EndTxnMarker)
MR_MESSAGE(KRaftVersionRecord)
MR_MESSAGE(LeaderChangeMessage)
MR_MESSAGE(SnapshotFooterRecord)
MR_MESSAGE(SnapshotHeaderRecord)
MR_MESSAGE(VotersRecord)
MR_KEYED_MESSAGE(LegacyOffsetCommitKey)
MR_KEYED_MESSAGE(LegacyOffsetCommitValue)
MR_KEYED_MESSAGE(OffsetCommitKey)
MR_KEYED_MESSAGE(OffsetCommitValue)
MR_KEYED_MESSAGE(GroupMetadataKey)
MR_KEYED_MESSAGE(GroupMetadataValue)
MR_KEYED_MESSAGE(ConsumerGroupMetadataKey)
MR_KEYED_MESSAGE(ConsumerGroupMetadataValue)
MR_KEYED_MESSAGE(ConsumerGroupPartitionMetadataKey)
MR_KEYED_MESSAGE(ConsumerGroupPartitionMetadataValue)
MR_KEYED_MESSAGE(ConsumerGroupMemberMetadataKey)
MR_KEYED_MESSAGE(ConsumerGroupMemberMetadataValue)
MR_KEYED_MESSAGE(ConsumerGroupTargetAssignmentMetadataKey)
MR_KEYED_MESSAGE(ConsumerGroupTargetAssignmentMetadataValue)
MR_KEYED_MESSAGE(ConsumerGroupTargetAssignmentMemberKey)
MR_KEYED_MESSAGE(ConsumerGroupTargetAssignmentMemberValue)
MR_KEYED_MESSAGE(ConsumerGroupCurrentMemberAssignmentKey)
MR_KEYED_MESSAGE(ConsumerGroupCurrentMemberAssignmentValue)
MR_KEYED_MESSAGE(ShareGroupMemberMetadataKey)
MR_KEYED_MESSAGE(ShareGroupMemberMetadataValue)
MR_KEYED_MESSAGE(ShareGroupMetadataKey)
MR_KEYED_MESSAGE(ShareGroupMetadataValue)
MR_KEYED_MESSAGE(ShareGroupTargetAssignmentMetadataKey)
MR_KEYED_MESSAGE(ShareGroupTargetAssignmentMetadataValue)
MR_KEYED_MESSAGE(ShareGroupTargetAssignmentMemberKey)
MR_KEYED_MESSAGE(ShareGroupTargetAssignmentMemberValue)
MR_KEYED_MESSAGE(ShareGroupCurrentMemberAssignmentKey)
MR_KEYED_MESSAGE(ShareGroupCurrentMemberAssignmentValue)
MR_KEYED_MESSAGE(ShareGroupStatePartitionMetadataKey)
MR_KEYED_MESSAGE(ShareGroupStatePartitionMetadataValue)
MR_KEYED_MESSAGE(ConsumerGroupRegularExpressionKey)
MR_KEYED_MESSAGE(ConsumerGroupRegularExpressionValue)
MR_KEYED_MESSAGE(StreamsGroupMetadataKey)
MR_KEYED_MESSAGE(StreamsGroupMetadataValue)
MR_KEYED_MESSAGE(StreamsGroupMemberMetadataKey)
MR_KEYED_MESSAGE(StreamsGroupMemberMetadataValue)
MR_KEYED_MESSAGE(StreamsGroupTargetAssignmentMetadataKey)
MR_KEYED_MESSAGE(StreamsGroupTargetAssignmentMetadataValue)
MR_KEYED_MESSAGE(StreamsGroupTargetAssignmentMemberKey)
MR_KEYED_MESSAGE(StreamsGroupTargetAssignmentMemberValue)
MR_KEYED_MESSAGE(StreamsGroupCurrentMemberAssignmentKey)
MR_KEYED_MESSAGE(StreamsGroupCurrentMemberAssignmentValue)
MR_KEYED_MESSAGE(StreamsGroupTopologyKey)
MR_KEYED_MESSAGE(StreamsGroupTopologyValue)
MR_KEYED_MESSAGE(RegisterBrokerRecord)
MR_KEYED_MESSAGE(UnregisterBrokerRecord)
MR_KEYED_MESSAGE(TopicRecord)
MR_KEYED_MESSAGE(PartitionRecord)
MR_KEYED_MESSAGE(ConfigRecord)
MR_KEYED_MESSAGE(PartitionChangeRecord)
MR_KEYED_MESSAGE(FenceBrokerRecord)
MR_KEYED_MESSAGE(UnfenceBrokerRecord)
MR_KEYED_MESSAGE(RemoveTopicRecord)
MR_KEYED_MESSAGE(DelegationTokenRecord)
MR_KEYED_MESSAGE(UserScramCredentialRecord)
MR_KEYED_MESSAGE(FeatureLevelRecord)
MR_KEYED_MESSAGE(ClientQuotaRecord)
MR_KEYED_MESSAGE(ProducerIdsRecord)
MR_KEYED_MESSAGE(BrokerRegistrationChangeRecord)
MR_KEYED_MESSAGE(AccessControlEntryRecord)
MR_KEYED_MESSAGE(RemoveAccessControlEntryRecord)
MR_KEYED_MESSAGE(NoOpRecord)
MR_KEYED_MESSAGE(ZkMigrationStateRecord)
MR_KEYED_MESSAGE(RemoveUserScramCredentialRecord)
MR_KEYED_MESSAGE(BeginTransactionRecord)
MR_KEYED_MESSAGE(EndTransactionRecord)
MR_KEYED_MESSAGE(AbortTransactionRecord)
MR_KEYED_MESSAGE(RemoveDelegationTokenRecord)
MR_KEYED_MESSAGE(RegisterControllerRecord)
MR_KEYED_MESSAGE(ClearElrRecord)
MR_KEYED_MESSAGE(UnregisterControllerRecord)
MR_MESSAGE(QuorumStateData)
MR_KEYED_MESSAGE(ShareSnapshotKey)
MR_KEYED_MESSAGE(ShareSnapshotValue)
MR_KEYED_MESSAGE(ShareUpdateKey)
MR_KEYED_MESSAGE(ShareUpdateValue)
MR_MESSAGE(ProducerSnapshot)
MR_KEYED_MESSAGE(RemoteLogSegmentMetadataRecord)
MR_KEYED_MESSAGE(RemoteLogSegmentMetadataUpdateRecord)
MR_KEYED_MESSAGE(RemotePartitionDeleteMetadataRecord)
MR_KEYED_MESSAGE(RemoteLogSegmentMetadataSnapshotRecord)
MR_KEYED_MESSAGE(TransactionLogKey)
MR_KEYED_MESSAGE(TransactionLogValue)

namespace {

std::array<RecordInfo, 94> const kRecords{{
    {"AbortedTxn", RecordLog::none, RecordPart::data, &AbortedTxn::table},
    {"ConsumerProtocolAssignment", RecordLog::none, RecordPart::data, &ConsumerProtocolAssignment::table},
    {"ConsumerProtocolSubscription", RecordLog::none, RecordPart::data, &ConsumerProtocolSubscription::table},
    {"ControlRecordTypeSchema", RecordLog::none, RecordPart::data, &ControlRecordTypeSchema::table},
    {"DefaultPrincipalData", RecordLog::none, RecordPart::data, &DefaultPrincipalData::table},
    {"EndTxnMarker", RecordLog::none, RecordPart::data, &EndTxnMarker::table},
    {"KRaftVersionRecord", RecordLog::none, RecordPart::data, &KRaftVersionRecord::table},
    {"LeaderChangeMessage", RecordLog::none, RecordPart::data, &LeaderChangeMessage::table},
    {"SnapshotFooterRecord", RecordLog::none, RecordPart::data, &SnapshotFooterRecord::table},
    {"SnapshotHeaderRecord", RecordLog::none, RecordPart::data, &SnapshotHeaderRecord::table},
    {"VotersRecord", RecordLog::none, RecordPart::data, &VotersRecord::table},
    {"LegacyOffsetCommitKey", RecordLog::group, RecordPart::key, &LegacyOffsetCommitKey::table},
    {"LegacyOffsetCommitValue", RecordLog::group, RecordPart::value, &LegacyOffsetCommitValue::table},
    {"OffsetCommitKey", RecordLog::group, RecordPart::key, &OffsetCommitKey::table},
    {"OffsetCommitValue", RecordLog::group, RecordPart::value, &OffsetCommitValue::table},
    {"GroupMetadataKey", RecordLog::group, RecordPart::key, &GroupMetadataKey::table},
    {"GroupMetadataValue", RecordLog::group, RecordPart::value, &GroupMetadataValue::table},
    {"ConsumerGroupMetadataKey", RecordLog::group, RecordPart::key, &ConsumerGroupMetadataKey::table},
    {"ConsumerGroupMetadataValue", RecordLog::group, RecordPart::value, &ConsumerGroupMetadataValue::table},
    {"ConsumerGroupPartitionMetadataKey", RecordLog::group, RecordPart::key, &ConsumerGroupPartitionMetadataKey::table},
    {"ConsumerGroupPartitionMetadataValue", RecordLog::group, RecordPart::value,
     &ConsumerGroupPartitionMetadataValue::table},
    {"ConsumerGroupMemberMetadataKey", RecordLog::group, RecordPart::key, &ConsumerGroupMemberMetadataKey::table},
    {"ConsumerGroupMemberMetadataValue", RecordLog::group, RecordPart::value, &ConsumerGroupMemberMetadataValue::table},
    {"ConsumerGroupTargetAssignmentMetadataKey", RecordLog::group, RecordPart::key,
     &ConsumerGroupTargetAssignmentMetadataKey::table},
    {"ConsumerGroupTargetAssignmentMetadataValue", RecordLog::group, RecordPart::value,
     &ConsumerGroupTargetAssignmentMetadataValue::table},
    {"ConsumerGroupTargetAssignmentMemberKey", RecordLog::group, RecordPart::key,
     &ConsumerGroupTargetAssignmentMemberKey::table},
    {"ConsumerGroupTargetAssignmentMemberValue", RecordLog::group, RecordPart::value,
     &ConsumerGroupTargetAssignmentMemberValue::table},
    {"ConsumerGroupCurrentMemberAssignmentKey", RecordLog::group, RecordPart::key,
     &ConsumerGroupCurrentMemberAssignmentKey::table},
    {"ConsumerGroupCurrentMemberAssignmentValue", RecordLog::group, RecordPart::value,
     &ConsumerGroupCurrentMemberAssignmentValue::table},
    {"ShareGroupMemberMetadataKey", RecordLog::group, RecordPart::key, &ShareGroupMemberMetadataKey::table},
    {"ShareGroupMemberMetadataValue", RecordLog::group, RecordPart::value, &ShareGroupMemberMetadataValue::table},
    {"ShareGroupMetadataKey", RecordLog::group, RecordPart::key, &ShareGroupMetadataKey::table},
    {"ShareGroupMetadataValue", RecordLog::group, RecordPart::value, &ShareGroupMetadataValue::table},
    {"ShareGroupTargetAssignmentMetadataKey", RecordLog::group, RecordPart::key,
     &ShareGroupTargetAssignmentMetadataKey::table},
    {"ShareGroupTargetAssignmentMetadataValue", RecordLog::group, RecordPart::value,
     &ShareGroupTargetAssignmentMetadataValue::table},
    {"ShareGroupTargetAssignmentMemberKey", RecordLog::group, RecordPart::key,
     &ShareGroupTargetAssignmentMemberKey::table},
    {"ShareGroupTargetAssignmentMemberValue", RecordLog::group, RecordPart::value,
     &ShareGroupTargetAssignmentMemberValue::table},
    {"ShareGroupCurrentMemberAssignmentKey", RecordLog::group, RecordPart::key,
     &ShareGroupCurrentMemberAssignmentKey::table},
    {"ShareGroupCurrentMemberAssignmentValue", RecordLog::group, RecordPart::value,
     &ShareGroupCurrentMemberAssignmentValue::table},
    {"ShareGroupStatePartitionMetadataKey", RecordLog::group, RecordPart::key,
     &ShareGroupStatePartitionMetadataKey::table},
    {"ShareGroupStatePartitionMetadataValue", RecordLog::group, RecordPart::value,
     &ShareGroupStatePartitionMetadataValue::table},
    {"ConsumerGroupRegularExpressionKey", RecordLog::group, RecordPart::key, &ConsumerGroupRegularExpressionKey::table},
    {"ConsumerGroupRegularExpressionValue", RecordLog::group, RecordPart::value,
     &ConsumerGroupRegularExpressionValue::table},
    {"StreamsGroupMetadataKey", RecordLog::group, RecordPart::key, &StreamsGroupMetadataKey::table},
    {"StreamsGroupMetadataValue", RecordLog::group, RecordPart::value, &StreamsGroupMetadataValue::table},
    {"StreamsGroupMemberMetadataKey", RecordLog::group, RecordPart::key, &StreamsGroupMemberMetadataKey::table},
    {"StreamsGroupMemberMetadataValue", RecordLog::group, RecordPart::value, &StreamsGroupMemberMetadataValue::table},
    {"StreamsGroupTargetAssignmentMetadataKey", RecordLog::group, RecordPart::key,
     &StreamsGroupTargetAssignmentMetadataKey::table},
    {"StreamsGroupTargetAssignmentMetadataValue", RecordLog::group, RecordPart::value,
     &StreamsGroupTargetAssignmentMetadataValue::table},
    {"StreamsGroupTargetAssignmentMemberKey", RecordLog::group, RecordPart::key,
     &StreamsGroupTargetAssignmentMemberKey::table},
    {"StreamsGroupTargetAssignmentMemberValue", RecordLog::group, RecordPart::value,
     &StreamsGroupTargetAssignmentMemberValue::table},
    {"StreamsGroupCurrentMemberAssignmentKey", RecordLog::group, RecordPart::key,
     &StreamsGroupCurrentMemberAssignmentKey::table},
    {"StreamsGroupCurrentMemberAssignmentValue", RecordLog::group, RecordPart::value,
     &StreamsGroupCurrentMemberAssignmentValue::table},
    {"StreamsGroupTopologyKey", RecordLog::group, RecordPart::key, &StreamsGroupTopologyKey::table},
    {"StreamsGroupTopologyValue", RecordLog::group, RecordPart::value, &StreamsGroupTopologyValue::table},
    {"RegisterBrokerRecord", RecordLog::metadata, RecordPart::body, &RegisterBrokerRecord::table},
    {"UnregisterBrokerRecord", RecordLog::metadata, RecordPart::body, &UnregisterBrokerRecord::table},
    {"TopicRecord", RecordLog::metadata, RecordPart::body, &TopicRecord::table},
    {"PartitionRecord", RecordLog::metadata, RecordPart::body, &PartitionRecord::table},
    {"ConfigRecord", RecordLog::metadata, RecordPart::body, &ConfigRecord::table},
    {"PartitionChangeRecord", RecordLog::metadata, RecordPart::body, &PartitionChangeRecord::table},
    {"FenceBrokerRecord", RecordLog::metadata, RecordPart::body, &FenceBrokerRecord::table},
    {"UnfenceBrokerRecord", RecordLog::metadata, RecordPart::body, &UnfenceBrokerRecord::table},
    {"RemoveTopicRecord", RecordLog::metadata, RecordPart::body, &RemoveTopicRecord::table},
    {"DelegationTokenRecord", RecordLog::metadata, RecordPart::body, &DelegationTokenRecord::table},
    {"UserScramCredentialRecord", RecordLog::metadata, RecordPart::body, &UserScramCredentialRecord::table},
    {"FeatureLevelRecord", RecordLog::metadata, RecordPart::body, &FeatureLevelRecord::table},
    {"ClientQuotaRecord", RecordLog::metadata, RecordPart::body, &ClientQuotaRecord::table},
    {"ProducerIdsRecord", RecordLog::metadata, RecordPart::body, &ProducerIdsRecord::table},
    {"BrokerRegistrationChangeRecord", RecordLog::metadata, RecordPart::body, &BrokerRegistrationChangeRecord::table},
    {"AccessControlEntryRecord", RecordLog::metadata, RecordPart::body, &AccessControlEntryRecord::table},
    {"RemoveAccessControlEntryRecord", RecordLog::metadata, RecordPart::body, &RemoveAccessControlEntryRecord::table},
    {"NoOpRecord", RecordLog::metadata, RecordPart::body, &NoOpRecord::table},
    {"ZkMigrationStateRecord", RecordLog::metadata, RecordPart::body, &ZkMigrationStateRecord::table},
    {"RemoveUserScramCredentialRecord", RecordLog::metadata, RecordPart::body, &RemoveUserScramCredentialRecord::table},
    {"BeginTransactionRecord", RecordLog::metadata, RecordPart::body, &BeginTransactionRecord::table},
    {"EndTransactionRecord", RecordLog::metadata, RecordPart::body, &EndTransactionRecord::table},
    {"AbortTransactionRecord", RecordLog::metadata, RecordPart::body, &AbortTransactionRecord::table},
    {"RemoveDelegationTokenRecord", RecordLog::metadata, RecordPart::body, &RemoveDelegationTokenRecord::table},
    {"RegisterControllerRecord", RecordLog::metadata, RecordPart::body, &RegisterControllerRecord::table},
    {"ClearElrRecord", RecordLog::metadata, RecordPart::body, &ClearElrRecord::table},
    {"UnregisterControllerRecord", RecordLog::metadata, RecordPart::body, &UnregisterControllerRecord::table},
    {"QuorumStateData", RecordLog::none, RecordPart::data, &QuorumStateData::table},
    {"ShareSnapshotKey", RecordLog::share_state, RecordPart::key, &ShareSnapshotKey::table},
    {"ShareSnapshotValue", RecordLog::share_state, RecordPart::value, &ShareSnapshotValue::table},
    {"ShareUpdateKey", RecordLog::share_state, RecordPart::key, &ShareUpdateKey::table},
    {"ShareUpdateValue", RecordLog::share_state, RecordPart::value, &ShareUpdateValue::table},
    {"ProducerSnapshot", RecordLog::none, RecordPart::data, &ProducerSnapshot::table},
    {"RemoteLogSegmentMetadataRecord", RecordLog::remote_log, RecordPart::body, &RemoteLogSegmentMetadataRecord::table},
    {"RemoteLogSegmentMetadataUpdateRecord", RecordLog::remote_log, RecordPart::body,
     &RemoteLogSegmentMetadataUpdateRecord::table},
    {"RemotePartitionDeleteMetadataRecord", RecordLog::remote_log, RecordPart::body,
     &RemotePartitionDeleteMetadataRecord::table},
    {"RemoteLogSegmentMetadataSnapshotRecord", RecordLog::remote_log, RecordPart::body,
     &RemoteLogSegmentMetadataSnapshotRecord::table},
    {"TransactionLogKey", RecordLog::transaction, RecordPart::key, &TransactionLogKey::table},
    {"TransactionLogValue", RecordLog::transaction, RecordPart::value, &TransactionLogValue::table},
}};

}  // namespace

std::span<RecordInfo const> all_records() { return kRecords; }

RecordInfo const* find_record(RecordLog log, RecordPart part, int16_t key) {
  for (auto const& record : kRecords) {
    if (record.log == log && record.part == part && record.table().key() == key) return &record;
  }
  return nullptr;
}

}  // namespace millrace::protocol
