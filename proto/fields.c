/* SPDX-License-Identifier: MIT */
#include "codec.h"

/*
 * The field tables of every message, as data. A message missing here fails to link, since
 * message.h declares the description of each one in PROTOCOL_MESSAGES.
 */

#define PRESENCE_REQUIRED true
#define PRESENCE_OPTIONAL false

#define THIS bind_spec
#define FIELDS BIND_FIELDS
#include "field_table.h"

#define THIS limits_spec
#define FIELDS LIMITS_FIELDS
#include "field_table.h"

#define THIS limit_state
#define FIELDS LIMIT_STATE_FIELDS
#include "field_table.h"

#define THIS boundary
#define FIELDS BOUNDARY_FIELDS
#include "field_table.h"

#define THIS log_state
#define FIELDS LOG_STATE_FIELDS
#include "field_table.h"

#define THIS git_change
#define FIELDS GIT_CHANGE_FIELDS
#include "field_table.h"

#define THIS login_outcome
#define FIELDS LOGIN_OUTCOME_FIELDS
#include "field_table.h"

#define THIS kept
#define FIELDS KEPT_FIELDS
#include "field_table.h"

#define THIS trial_connection
#define FIELDS CONNECTION_FIELDS
#include "field_table.h"

#define THIS connection_sum
#define FIELDS CONNECTION_SUM_FIELDS
#include "field_table.h"

#define THIS trial_verdict
#define FIELDS TRIAL_VERDICT_FIELDS
#include "field_table.h"

#define THIS status_trial
#define FIELDS STATUS_TRIAL_FIELDS
#include "field_table.h"

#define THIS doctor_check
#define FIELDS DOCTOR_CHECK_FIELDS
#include "field_table.h"

#define THIS trial_toolchain
#define FIELDS TRIAL_TOOLCHAIN_FIELDS
#include "field_table.h"

#define THIS trial_harness
#define FIELDS TRIAL_HARNESS_FIELDS
#include "field_table.h"

#define THIS harness_view
#define FIELDS HARNESS_VIEW_FIELDS
#include "field_table.h"

#define THIS login_view
#define FIELDS LOGIN_VIEW_FIELDS
#include "field_table.h"

#define THIS sandbox_mount
#define FIELDS MOUNT_FIELDS
#include "field_table.h"

#define THIS sandbox_view
#define FIELDS SANDBOX_FIELDS
#include "field_table.h"

#define THIS arm_file
#define FIELDS ARM_FILE_FIELDS
#include "field_table.h"

#define THIS arm_harness
#define FIELDS ARM_HARNESS_FIELDS
#include "field_table.h"

#define THIS arm_provider
#define FIELDS ARM_PROVIDER_FIELDS
#include "field_table.h"

#define THIS arm_folder
#define FIELDS ARM_FOLDER_FIELDS
#include "field_table.h"

#define THIS arm_spec
#define FIELDS ARM_SPEC_FIELDS
#include "field_table.h"

#define THIS arm
#define FIELDS ARM_FIELDS
#include "field_table.h"

#define THIS arm_change
#define FIELDS ARM_CHANGE_FIELDS
#include "field_table.h"

#define THIS arm_view
#define FIELDS ARM_VIEW_FIELDS
#include "field_table.h"

#define THIS bar_seat
#define FIELDS BAR_SEAT_FIELDS
#include "field_table.h"

#define THIS bar_spec
#define FIELDS BAR_SPEC_FIELDS
#include "field_table.h"

#define THIS bar_view
#define FIELDS BAR_VIEW_FIELDS
#include "field_table.h"

#define THIS panel_seat
#define FIELDS PANEL_SEAT_FIELDS
#include "field_table.h"

#define THIS panel_arm
#define FIELDS PANEL_ARM_FIELDS
#include "field_table.h"

#define THIS outcome_record
#define FIELDS OUTCOME_FIELDS
#include "field_table.h"

#define THIS trial_view
#define FIELDS TRIAL_FIELDS
#include "field_table.h"

#define THIS hello_request
#define FIELDS HELLO_FIELDS
#include "field_table.h"

#define THIS launch_request
#define FIELDS LAUNCH_FIELDS
#include "field_table.h"

#define THIS rerun_request
#define FIELDS RERUN_FIELDS
#include "field_table.h"

#define THIS list_request
#define FIELDS LIST_FIELDS
#include "field_table.h"

#define THIS show_request
#define FIELDS SHOW_FIELDS
#include "field_table.h"

#define THIS wait_request
#define FIELDS WAIT_FIELDS
#include "field_table.h"

#define THIS cancel_request
#define FIELDS CANCEL_FIELDS
#include "field_table.h"

#define THIS logs_request
#define FIELDS LOGS_FIELDS
#include "field_table.h"

#define THIS watch_request
#define FIELDS WATCH_FIELDS
#include "field_table.h"

#define THIS doctor_request
#define FIELDS DOCTOR_FIELDS
#include "field_table.h"

#define THIS prune_request
#define FIELDS PRUNE_FIELDS
#include "field_table.h"

#define THIS pause_request
#define FIELDS PAUSE_FIELDS
#include "field_table.h"

#define THIS resume_request
#define FIELDS RESUME_FIELDS
#include "field_table.h"

#define THIS drain_request
#define FIELDS DRAIN_FIELDS
#include "field_table.h"

#define THIS harness_request
#define FIELDS HARNESS_FIELDS
#include "field_table.h"

#define THIS logins_request
#define FIELDS LOGINS_FIELDS
#include "field_table.h"

#define THIS login_restore_request
#define FIELDS LOGIN_RESTORE_FIELDS
#include "field_table.h"

#define THIS arm_prepare_request
#define FIELDS ARM_PREPARE_FIELDS
#include "field_table.h"

#define THIS arm_list_request
#define FIELDS ARM_LIST_FIELDS
#include "field_table.h"

#define THIS arm_show_request
#define FIELDS ARM_SHOW_FIELDS
#include "field_table.h"

#define THIS arm_verify_request
#define FIELDS ARM_VERIFY_FIELDS
#include "field_table.h"

#define THIS arm_diff_request
#define FIELDS ARM_DIFF_FIELDS
#include "field_table.h"

#define THIS arm_remove_request
#define FIELDS ARM_REMOVE_FIELDS
#include "field_table.h"

#define THIS bar_set_request
#define FIELDS BAR_SET_FIELDS
#include "field_table.h"

#define THIS bar_list_request
#define FIELDS BAR_LIST_FIELDS
#include "field_table.h"

#define THIS bar_show_request
#define FIELDS BAR_SHOW_FIELDS
#include "field_table.h"

#define THIS panel_check_request
#define FIELDS PANEL_CHECK_FIELDS
#include "field_table.h"

#define THIS status_request
#define FIELDS STATUS_FIELDS
#include "field_table.h"

#define THIS shutdown_request
#define FIELDS SHUTDOWN_FIELDS
#include "field_table.h"

#define THIS hello_reply
#define FIELDS HELLO_REPLY_FIELDS
#include "field_table.h"

#define THIS list_reply
#define FIELDS LIST_REPLY_FIELDS
#include "field_table.h"

#define THIS doctor_reply
#define FIELDS DOCTOR_REPLY_FIELDS
#include "field_table.h"

#define THIS status_reply
#define FIELDS STATUS_REPLY_FIELDS
#include "field_table.h"

#define THIS prune_reply
#define FIELDS PRUNE_REPLY_FIELDS
#include "field_table.h"

#define THIS pause_reply
#define FIELDS PAUSE_REPLY_FIELDS
#include "field_table.h"

#define THIS resume_reply
#define FIELDS PAUSE_REPLY_FIELDS
#include "field_table.h"

#define THIS drain_reply
#define FIELDS PAUSE_REPLY_FIELDS
#include "field_table.h"

#define THIS harness_reply
#define FIELDS HARNESS_REPLY_FIELDS
#include "field_table.h"

#define THIS logins_reply
#define FIELDS LOGINS_REPLY_FIELDS
#include "field_table.h"

#define THIS login_restore_reply
#define FIELDS LOGINS_REPLY_FIELDS
#include "field_table.h"

#define THIS arm_prepare_reply
#define FIELDS ARM_VIEW_FIELDS
#include "field_table.h"

#define THIS arm_list_reply
#define FIELDS ARM_LIST_REPLY_FIELDS
#include "field_table.h"

#define THIS arm_show_reply
#define FIELDS ARM_VIEW_FIELDS
#include "field_table.h"

#define THIS arm_verify_reply
#define FIELDS ARM_VIEW_FIELDS
#include "field_table.h"

#define THIS arm_diff_reply
#define FIELDS ARM_DIFF_REPLY_FIELDS
#include "field_table.h"

#define THIS arm_remove_reply
#define FIELDS ARM_REMOVE_REPLY_FIELDS
#include "field_table.h"

#define THIS bar_set_reply
#define FIELDS BAR_VIEW_FIELDS
#include "field_table.h"

#define THIS bar_list_reply
#define FIELDS BAR_LIST_REPLY_FIELDS
#include "field_table.h"

#define THIS bar_show_reply
#define FIELDS BAR_VIEW_FIELDS
#include "field_table.h"

#define THIS panel_check_reply
#define FIELDS PANEL_CHECK_REPLY_FIELDS
#include "field_table.h"

#define THIS shutdown_reply
#define FIELDS SHUTDOWN_REPLY_FIELDS
#include "field_table.h"

#define THIS logs_reply
#define FIELDS LOGS_REPLY_FIELDS
#include "field_table.h"

#define THIS watch_reply
#define FIELDS WATCH_REPLY_FIELDS
#include "field_table.h"

#define THIS state_event
#define FIELDS STATE_EVENT_FIELDS
#include "field_table.h"

#define THIS log_event
#define FIELDS LOG_EVENT_FIELDS
#include "field_table.h"

#define THIS gap_event
#define FIELDS GAP_EVENT_FIELDS
#include "field_table.h"

#define THIS log_end_event
#define FIELDS LOG_END_EVENT_FIELDS
#include "field_table.h"

#define THIS caught_up_event
#define FIELDS CAUGHT_UP_EVENT_FIELDS
#include "field_table.h"

#define THIS queue_event
#define FIELDS QUEUE_EVENT_FIELDS
#include "field_table.h"

#define THIS error_body
#define FIELDS ERROR_FIELDS
#include "field_table.h"

/* The codec copies the words of every set as one int. */
#define ASSERT_WIDTH_(set) _Static_assert(sizeof(enum set) == sizeof(int), #set);
ASSERT_WIDTH_(state)
ASSERT_WIDTH_(outcome)
ASSERT_WIDTH_(cause)
ASSERT_WIDTH_(ender)
ASSERT_WIDTH_(hold)
ASSERT_WIDTH_(role)
ASSERT_WIDTH_(mode)
ASSERT_WIDTH_(network)
ASSERT_WIDTH_(verdict)
ASSERT_WIDTH_(vote)
ASSERT_WIDTH_(backend)
ASSERT_WIDTH_(stream)
ASSERT_WIDTH_(check_state)
ASSERT_WIDTH_(login_kind)
ASSERT_WIDTH_(login_condition)
ASSERT_WIDTH_(mount_kind)

#define ARGUMENTS_(verb, FIELDS) [VERB_##verb] = &verb##_request_type,

const struct message_type *verb_arguments_type(enum verb verb)
{
	static const struct message_type *const types[VERB_COUNT] = {PROTOCOL_REQUESTS(ARGUMENTS_)};

	return (size_t)verb < VERB_COUNT ? types[verb] : NULL;
}

const struct message_type *field_inner_type(enum field_type type)
{
	static const struct message_type *const types[FIELD_TYPE_COUNT] = {
		[FIELD_LIMITS] = &limits_spec_type,
		[FIELD_BOUNDARY] = &boundary_type,
		[FIELD_TRIAL] = &trial_view_type,
		[FIELD_BINDS] = &bind_spec_type,
		[FIELD_LIMIT_STATES] = &limit_state_type,
		[FIELD_LOG_STATES] = &log_state_type,
		[FIELD_STATUS_TRIALS] = &status_trial_type,
		[FIELD_TRIALS] = &trial_view_type,
		[FIELD_DOCTOR_CHECKS] = &doctor_check_type,
		[FIELD_TRIAL_HARNESS] = &trial_harness_type,
		[FIELD_HARNESSES] = &harness_view_type,
		[FIELD_LOGINS] = &login_view_type,
		[FIELD_TRIAL_TOOLCHAINS] = &trial_toolchain_type,
		[FIELD_GIT_CHANGES] = &git_change_type,
		[FIELD_LOGIN_OUTCOMES] = &login_outcome_type,
		[FIELD_TRIAL_VERDICT] = &trial_verdict_type,
		[FIELD_KEPT_LIST] = &kept_type,
		[FIELD_CONNECTIONS] = &trial_connection_type,
		[FIELD_CONNECTION_SUM] = &connection_sum_type,
		[FIELD_MOUNTS] = &sandbox_mount_type,
		[FIELD_SANDBOX] = &sandbox_view_type,
		[FIELD_TRIAL_HARNESSES] = &trial_harness_type,
		[FIELD_ARM_FILES] = &arm_file_type,
		[FIELD_ARM_HARNESSES] = &arm_harness_type,
		[FIELD_ARM_PROVIDERS] = &arm_provider_type,
		[FIELD_ARM_CHANGES] = &arm_change_type,
		[FIELD_ARM_VIEWS] = &arm_view_type,
		[FIELD_ARM_FOLDER] = &arm_folder_type,
		[FIELD_ARM_SPEC] = &arm_spec_type,
		[FIELD_ARM] = &arm_type,
		[FIELD_BAR_SEATS] = &bar_seat_type,
		[FIELD_BAR_SPEC] = &bar_spec_type,
		[FIELD_BAR_VIEWS] = &bar_view_type,
		[FIELD_PANEL_SEATS] = &panel_seat_type,
		[FIELD_PANEL_ARMS] = &panel_arm_type,
	};

	return types[type];
}
