//! One function per numbered sentence of docs/contract.md, in one module per chapter.
//!
//! A function panics if the backend violates its sentence. The list below is the only place that
//! names all functions; [`SENTENCES`] and `contract_tests!` are generated from it.
#![allow(
    missing_docs,
    reason = "the name of a function is its claim; docs/contract.md has the sentence"
)]

pub mod collections;
pub mod document_filters;
pub mod errors;
pub mod feeds;
pub mod filters;
pub mod ledger;
pub mod lexical;
pub mod limits;
pub mod maintenance;
pub mod merge;
pub mod palaces;
pub mod projects;
pub mod query;
pub mod read_only;
pub mod reads;
pub mod recall;
pub mod registry;
pub mod relations;
pub mod uniqueness;
pub mod upkeep;
pub mod view;
pub mod writes;

/// One sentence of docs/contract.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sentence {
    /// Its number there.
    pub number: &'static str,
    /// Name of the function that tests it.
    pub name: &'static str,
    /// Whether it belongs to the read half, which read-only backends must satisfy too.
    pub read: bool,
}

/// Every numbered sentence of the chapters.
pub const SENTENCES: &[Sentence] = crate::__sentences! { [crate::__name_per_sentence] };

/// The sentences for read-only backends only.
pub const READ_ONLY_SENTENCES: &[Sentence] =
    crate::__read_only_sentences! { [crate::__name_per_sentence] };

/// Generates one `#[test]` per sentence of the contract, named like the sentence's function.
///
/// The argument is an expression that creates a [`Fixture`](crate::Fixture). Every test evaluates
/// it.
///
/// ```
/// use std::sync::Arc;
/// use loci_contract::{TempFixture, memory::MemoryBackend};
/// loci_contract::contract_tests!(TempFixture::in_memory(|| Arc::new(MemoryBackend::new())));
/// ```
#[macro_export]
macro_rules! contract_tests {
    ($fixture:expr) => {
        $crate::__sentences! { [$crate::__test_per_sentence] $fixture }
    };
}

/// Generates one `#[test]` per sentence of the read half and of read-only backends.
///
/// The argument is an expression that creates a [`Through`](crate::Through). Every test evaluates
/// it.
#[macro_export]
macro_rules! read_contract_tests {
    ($fixture:expr) => {
        $crate::__sentences! { [$crate::__test_per_read_sentence] $fixture }
        $crate::__read_only_sentences! { [$crate::__test_per_read_sentence] $fixture }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __test_per_sentence {
    ([$fixture:expr] $($chapter:ident $number:literal $name:ident $($half:ident)?;)*) => {
        $(
            #[test]
            fn $name() {
                $crate::sentences::$chapter::$name(&$fixture);
            }
        )*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __test_per_read_sentence {
    ([$fixture:expr] $($chapter:ident $number:literal $name:ident $($half:ident)?;)*) => {
        $( $crate::__test_of_a_read_sentence! { [$fixture] $chapter $name $($half)? } )*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __test_of_a_read_sentence {
    ([$fixture:expr] $chapter:ident $name:ident) => {};
    ([$fixture:expr] $chapter:ident $name:ident read) => {
        #[test]
        fn $name() {
            $crate::sentences::$chapter::$name(&$fixture);
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __name_per_sentence {
    ([] $($chapter:ident $number:literal $name:ident $($half:ident)?;)*) => {
        &[$($crate::sentences::Sentence {
            number: $number,
            name: stringify!($name),
            read: $crate::__is_read!($($half)?),
        }),*]
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __is_read {
    () => {
        false
    };
    (read) => {
        true
    };
}

/// Calls the macro in brackets with the other arguments and the sentences of read-only backends.
#[doc(hidden)]
#[macro_export]
macro_rules! __read_only_sentences {
    ([$($then:tt)*] $($argument:expr)?) => {
        $($then)*! { [$($argument)?]
            read_only "R.1" r1_every_write_is_unsupported_and_advises_import_where_there_is_one read;
            read_only "R.2" r2_no_call_changes_anything_on_disk read;
            read_only "R.3" r3_opening_a_missing_palace_with_create_creates_nothing read;
            read_only "R.4" r4_every_handle_sees_what_was_written_elsewhere_at_its_next_call read;
            read_only "R.5" r5_a_drawer_has_the_times_that_were_recorded read;
            read_only "R.6" r6_a_name_means_itself_and_the_default_collection_is_one_that_is_there read;
        }
    };
}

/// Calls the macro in brackets with the other arguments and the list of sentences. `read` marks
/// those of the read half.
#[doc(hidden)]
#[macro_export]
macro_rules! __sentences {
    ([$($then:tt)*] $($argument:expr)?) => {
        $($then)*! { [$($argument)?]
            palaces "1.1" s1_1_opening_a_missing_palace_without_create_creates_nothing read;
            palaces "1.2" s1_2_opening_with_create_makes_palace_and_collection;
            palaces "1.3" s1_3_listing_or_deleting_in_a_missing_palace_creates_nothing read;
            palaces "1.4" s1_4_detect_is_false_for_missing_and_empty_directories read;
            palaces "1.5" s1_5_detect_is_true_for_a_palace_of_this_backend read;
            palaces "1.6" s1_6_a_palace_is_readable_by_its_owner_alone;
            palaces "1.7" s1_7_an_empty_directory_is_no_palace_and_stays_empty read;
            palaces "1.8" s1_8_list_collections_is_sorted_by_name_and_describes_each read;
            palaces "1.9" s1_9_palaces_never_see_each_others_drawers read;
            palaces "1.10" s1_10_a_closed_palace_can_be_opened_again read;
            palaces "1.11" s1_11_handles_of_a_closed_palace_answer_backend_closed read;
            palaces "1.12" s1_12_after_close_every_call_is_backend_closed read;
            palaces "1.13" s1_13_health_of_a_closed_backend_is_unhealthy_not_an_error read;
            palaces "1.14" s1_14_instances_see_each_others_writes_at_their_next_call read;
            palaces "1.15" s1_15_everything_survives_the_instance read;
            palaces "1.16" s1_16_a_call_whose_capability_is_not_named_is_unsupported read;
            collections "2.1" s2_1_opening_a_missing_collection_without_create_creates_nothing read;
            collections "2.2" s2_2_creating_an_existing_collection_is_a_conflict;
            collections "2.3" s2_3_opening_with_create_keeps_an_existing_collection read;
            collections "2.4" s2_4_the_metric_is_cosine_unless_given read;
            collections "2.5" s2_5_the_metric_is_fixed_at_creation read;
            collections "2.6" s2_6_opening_with_another_metric_is_a_conflict read;
            collections "2.7" s2_7_a_deleted_collection_is_gone read;
            collections "2.8" s2_8_deleting_a_missing_collection_is_not_initialized;
            collections "2.9" s2_9_handles_of_a_deleted_collection_answer_not_initialized read;
            collections "2.10" s2_10_a_name_created_again_starts_empty read;
            collections "2.11" s2_11_collections_never_leak_into_each_other read;
            collections "2.12" s2_12_one_id_may_stand_in_two_collections read;
            collections "2.13" s2_13_an_invalid_name_is_refused_and_creates_nothing read;
            collections "2.14" s2_14_any_other_name_is_kept_apart_from_all_others read;
            collections "2.15" s2_15_the_first_vector_fixes_the_dimension read;
            collections "2.16" s2_16_creating_with_an_embedder_pins_it read;
            collections "2.17" s2_17_the_first_write_that_uses_an_embedder_pins_it read;
            collections "2.18" s2_18_vectors_of_the_caller_pin_no_embedder read;
            collections "2.19" s2_19_opening_with_another_embedder_is_a_mismatch read;
            collections "2.20" s2_20_a_pinned_collection_opens_without_an_embedder read;
            collections "2.21" s2_21_a_pinned_embedder_fixes_the_dimension_for_the_callers_vectors;
            collections "2.22" s2_22_a_handle_knows_what_the_collection_was_when_it_was_opened;
            collections "2.23" s2_23_a_handle_takes_an_embedder_that_fits_and_refuses_another;
            writes "3.1" s3_1_text_is_kept_word_for_word read;
            writes "3.2" s3_2_vectors_come_back_bit_for_bit read;
            writes "3.3" s3_3_a_write_has_one_outcome_per_id_in_their_order;
            writes "3.4" s3_4_add_of_an_existing_id_keeps_the_old_record;
            writes "3.5" s3_5_one_id_twice_in_a_call_is_refused_before_anything_is_written;
            writes "3.6" s3_6_a_batch_is_all_or_nothing;
            writes "3.7" s3_7_an_empty_batch_succeeds_with_no_outcomes;
            writes "3.8" s3_8_upsert_adds_unknown_ids_and_changes_known_ones;
            writes "3.9" s3_9_update_reports_unknown_ids_and_applies_the_rest;
            writes "3.10" s3_10_update_needs_at_least_one_column;
            writes "3.11" s3_11_a_column_is_as_long_as_the_ids;
            writes "3.12" s3_12_a_write_that_changes_nothing_is_unchanged_and_draws_no_number;
            writes "3.13" s3_13_each_changed_or_deleted_record_draws_one_number;
            writes "3.14" s3_14_numbers_increase_across_the_collections_of_a_palace;
            writes "3.15" s3_15_a_result_names_the_last_number_of_the_call_or_of_the_collection;
            writes "3.16" s3_16_delete_by_ids_removes_exactly_those;
            writes "3.17" s3_17_delete_by_filter_removes_exactly_what_matches;
            writes "3.18" s3_18_delete_with_ids_and_filter_needs_both_to_hold;
            writes "3.19" s3_19_delete_with_neither_ids_nor_filter_is_refused;
            writes "3.20" s3_20_delete_counts_only_drawers_that_existed;
            writes "3.21" s3_21_delete_with_an_empty_list_of_ids_deletes_nothing;
            writes "3.22" s3_22_a_deleted_drawer_is_found_by_no_call read;
            writes "3.23" s3_23_ids_are_compared_byte_by_byte read;
            writes "3.24" s3_24_a_record_may_hold_nothing_but_its_id read;
            writes "3.25" s3_25_null_in_the_metadata_of_a_new_record_is_an_absent_key read;
            writes "3.26" s3_26_writes_from_several_threads_lose_nothing;
            writes "3.27" s3_27_a_write_is_seen_by_every_handle_at_its_next_call read;
            merge "4.1" s4_1_given_keys_replace_and_the_others_stay;
            merge "4.2" s4_2_null_removes_a_key;
            merge "4.3" s4_3_a_list_is_replaced_whole read;
            merge "4.4" s4_4_values_keep_their_type;
            merge "4.5" s4_5_an_absent_document_is_kept;
            merge "4.6" s4_6_an_absent_vector_is_kept_while_the_text_stays;
            merge "4.7" s4_7_an_absent_entry_of_a_column_keeps_that_records_field;
            merge "4.8" s4_8_texts_without_a_vector_are_embedded_when_there_is_an_embedder;
            merge "4.9" s4_9_new_text_without_vector_or_embedder_drops_the_old_vector;
            merge "4.10" s4_10_text_that_never_had_a_vector_changes_without_a_warning;
            merge "4.11" s4_11_a_given_vector_is_taken_instead_of_the_embedders;
            merge "4.12" s4_12_a_changed_drawer_keeps_its_place_in_the_order read;
            merge "4.13" s4_13_a_handle_without_an_embedder_drops_what_one_with_it_made;
            merge "4.14" s4_14_vectors_made_beforehand_count_only_if_the_embedder_of_the_handle_made_them;
            uniqueness "5.1" s5_1_add_of_a_duplicate_writes_nothing_and_names_the_holder;
            uniqueness "5.2" s5_2_upsert_of_a_new_duplicate_writes_nothing_and_names_the_holder;
            uniqueness "5.3" s5_3_of_duplicates_in_one_batch_the_first_wins;
            uniqueness "5.4" s5_4_a_batch_of_only_losers_succeeds;
            uniqueness "5.5" s5_5_an_upsert_that_would_make_a_duplicate_leaves_the_drawer_unchanged;
            uniqueness "5.6" s5_6_an_update_that_would_make_a_duplicate_is_a_conflict_and_nothing_is_applied;
            uniqueness "5.7" s5_7_another_wing_file_text_or_line_makes_no_duplicate;
            uniqueness "5.8" s5_8_a_missing_wing_or_line_counts_as_empty;
            uniqueness "5.9" s5_9_drawers_without_a_source_file_may_say_the_same;
            uniqueness "5.10" s5_10_a_duplicate_in_another_collection_is_none;
            uniqueness "5.11" s5_11_a_deleted_drawer_frees_its_key;
            uniqueness "5.12" s5_12_a_drawer_is_no_duplicate_of_itself;
            uniqueness "5.13" s5_13_an_existing_id_is_exists_before_it_is_a_duplicate;
            uniqueness "5.14" s5_14_a_changed_drawer_frees_its_old_key;
            uniqueness "5.15" s5_15_a_drawer_without_text_is_no_duplicate;
            reads "6.1" s6_1_get_returns_drawers_in_the_order_they_were_added read;
            reads "6.2" s6_2_get_by_ids_keeps_that_order_and_gives_each_drawer_once read;
            reads "6.3" s6_3_get_drops_unknown_ids read;
            reads "6.4" s6_4_an_empty_list_of_ids_selects_nothing read;
            reads "6.5" s6_5_ids_and_filters_must_all_hold read;
            reads "6.6" s6_6_limit_and_offset_count_after_filtering read;
            reads "6.7" s6_7_limit_zero_gives_nothing read;
            reads "6.8" s6_8_an_offset_past_the_end_gives_nothing read;
            reads "6.9" s6_9_a_field_asked_for_has_one_entry_per_id read;
            reads "6.10" s6_10_a_field_not_asked_for_is_empty read;
            reads "6.11" s6_11_get_returns_documents_and_metadatas_by_default read;
            reads "6.12" s6_12_embeddings_asked_for_are_a_list_also_when_nothing_is_found read;
            reads "6.13" s6_13_an_id_added_again_stands_at_the_end read;
            reads "6.14" s6_14_count_is_exact read;
            reads "6.15" s6_15_estimated_count_answers_and_is_zero_when_nothing_was_ever_added read;
            reads "6.16" s6_16_count_selected_is_the_number_of_drawers_that_get_finds read;
            query "7.1" s7_1_hits_come_nearest_first read;
            query "7.2" s7_2_ties_stand_in_the_order_of_insertion read;
            query "7.3" s7_3_cosine_distance_is_one_minus_the_cosine read;
            query "7.4" s7_4_l2_distance_is_squared read;
            query "7.5" s7_5_ip_distance_is_one_minus_the_inner_product read;
            query "7.6" s7_6_a_zero_vector_has_cosine_distance_one_to_everything read;
            query "7.7" s7_7_there_is_one_list_per_query_in_their_order read;
            query "7.8" s7_8_k_may_exceed_the_number_of_drawers read;
            query "7.9" s7_9_k_zero_or_above_the_limit_is_refused read;
            query "7.10" s7_10_an_empty_list_of_queries_is_refused read;
            query "7.11" s7_11_texts_without_an_embedder_are_unsupported read;
            query "7.12" s7_12_texts_are_embedded_by_the_collections_embedder read;
            query "7.13" s7_13_a_vector_of_another_dimension_is_a_mismatch read;
            query "7.14" s7_14_an_empty_or_non_finite_vector_is_refused read;
            query "7.15" s7_15_a_collection_without_vectors_answers_empty_with_a_warning read;
            query "7.16" s7_16_drawers_without_a_vector_are_never_hits read;
            query "7.17" s7_17_filters_apply_inside_retrieval read;
            query "7.18" s7_18_ids_restrict_the_candidates read;
            query "7.19" s7_19_a_filter_that_excludes_everything_warns_with_the_number_of_drawers read;
            query "7.20" s7_20_a_field_asked_for_has_one_entry_per_hit read;
            query "7.21" s7_21_a_field_not_asked_for_is_one_empty_list_per_query read;
            query "7.22" s7_22_without_hits_every_field_keeps_the_outer_list read;
            query "7.23" s7_23_query_returns_documents_metadatas_and_distances_by_default read;
            query "7.24" s7_24_an_update_moves_the_vector read;
            query "7.25" s7_25_deleted_drawers_leave_room_for_a_full_answer read;
            query "7.26" s7_26_an_id_added_again_never_inherits_its_old_vector read;
            query "7.27" s7_27_query_takes_texts_or_vectors_and_exactly_one_of_them read;
            filters "8.1" s8_1_a_bare_value_means_equal read;
            filters "8.2" s8_2_strings_are_equal_byte_by_byte read;
            filters "8.3" s8_3_numbers_compare_across_int_and_float read;
            filters "8.4" s8_4_large_integers_compare_exactly read;
            filters "8.5" s8_5_booleans_are_no_numbers read;
            filters "8.6" s8_6_order_operators_compare_numbers_only read;
            filters "8.7" s8_7_in_matches_any_of_the_values read;
            filters "8.8" s8_8_negations_match_drawers_lacking_the_key read;
            filters "8.9" s8_9_contains_looks_into_lists_only read;
            filters "8.10" s8_10_equality_does_not_look_into_lists read;
            filters "8.11" s8_11_and_needs_all_or_needs_one read;
            filters "8.12" s8_12_an_unknown_operator_at_any_depth_is_named read;
            filters "8.13" s8_13_regex_on_metadata_is_unsupported read;
            filters "8.14" s8_14_a_malformed_filter_is_refused_not_guessed read;
            filters "8.15" s8_15_keys_and_values_are_taken_literally read;
            filters "8.16" s8_16_a_filter_means_the_same_in_every_call read;
            filters "8.17" s8_17_a_filter_built_in_code_means_what_matches_says read;
            recall "8.18" s8_18_a_period_selects_by_the_date_in_the_metadata read;
            filters "8.19" s8_19_starts_with_looks_at_the_beginning_of_strings read;
            document_filters "9.1" s9_1_contains_finds_a_string_anywhere_and_minds_case read;
            document_filters "9.2" s9_2_contains_takes_its_string_literally read;
            document_filters "9.3" s9_3_contains_compares_bytes_of_any_script read;
            document_filters "9.4" s9_4_not_contains_matches_drawers_without_text read;
            document_filters "9.5" s9_5_regex_is_searched_anywhere_in_the_text read;
            document_filters "9.6" s9_6_not_regex_matches_drawers_without_text read;
            document_filters "9.7" s9_7_conditions_on_text_combine read;
            document_filters "9.8" s9_8_a_text_condition_may_stand_inside_where read;
            document_filters "9.9" s9_9_a_malformed_text_condition_is_refused read;
            document_filters "9.10" s9_10_a_phrase_is_found_between_words_in_any_case_and_spacing read;
            lexical "10.1" s10_1_a_hit_carries_id_text_and_metadata read;
            lexical "10.2" s10_2_words_match_whatever_their_case read;
            lexical "10.3" s10_3_one_shared_word_is_enough read;
            lexical "10.4" s10_4_more_shared_words_rank_higher read;
            lexical "10.5" s10_5_hits_come_best_first_and_a_larger_score_is_better read;
            lexical "10.6" s10_6_a_drawer_without_a_shared_word_is_no_hit read;
            lexical "10.7" s10_7_any_text_is_valid_input read;
            lexical "10.8" s10_8_a_query_without_words_answers_empty_with_a_warning read;
            lexical "10.9" s10_9_a_query_of_stop_words_alone_is_still_searched read;
            lexical "10.10" s10_10_filters_apply_inside_the_search read;
            lexical "10.11" s10_11_a_filter_that_excludes_everything_warns_with_the_number_of_drawers read;
            lexical "10.12" s10_12_at_most_k_hits_come_back_and_k_if_there_are read;
            lexical "10.13" s10_13_a_changed_text_is_found_by_its_new_words_only read;
            lexical "10.14" s10_14_a_drawer_without_text_is_no_hit read;
            lexical "10.15" s10_15_words_of_other_scripts_are_found read;
            feeds "11.1" s11_1_facets_come_most_frequent_first read;
            feeds "11.2" s11_2_drawers_lacking_the_key_are_counted_as_missing read;
            feeds "11.3" s11_3_a_list_counts_once_for_each_distinct_element read;
            feeds "11.4" s11_4_more_is_the_number_of_values_beyond_the_limit read;
            feeds "11.5" s11_5_facets_count_the_selected_drawers_only read;
            feeds "11.6" s11_6_values_of_different_types_are_different_facets read;
            feeds "11.7" s11_7_recent_drawers_come_newest_change_first read;
            feeds "11.8" s11_8_a_write_that_changes_nothing_makes_nothing_recent read;
            feeds "11.9" s11_9_recent_obeys_limit_selection_and_include read;
            feeds "11.10" s11_10_the_feed_is_in_the_order_of_its_numbers;
            feeds "11.11" s11_11_a_drawer_changed_several_times_appears_once_at_its_last_number;
            feeds "11.12" s11_12_a_delete_has_the_record_number_and_no_id;
            feeds "11.13" s11_13_next_and_more_page_through_the_feed;
            feeds "11.14" s11_14_record_numbers_are_never_used_again;
            feeds "11.15" s11_15_a_drawer_keeps_its_record_number_for_life;
            feeds "11.16" s11_16_the_feed_starts_after_the_given_number;
            feeds "11.17" s11_17_with_nothing_new_the_feed_is_empty_and_does_not_go_back;
            feeds "11.18" s11_18_the_feed_of_a_collection_holds_its_own_changes_only;
            errors "12.1" s12_1_a_missing_palace_and_a_missing_collection_are_not_found read;
            errors "12.2" s12_2_a_closed_backend_is_unavailable_and_named read;
            errors "12.3" s12_3_a_dimension_mismatch_names_collection_and_both_lengths;
            errors "12.4" s12_4_an_embedder_mismatch_names_both_embedders read;
            errors "12.5" s12_5_a_conflict_of_duplicates_names_both_drawers;
            errors "12.6" s12_6_refused_input_names_what_is_wrong;
            errors "12.7" s12_7_a_refused_write_changes_nothing;
            registry "13.1" s13_1_a_registered_backend_is_found_by_its_name read;
            registry "13.2" s13_2_an_unknown_name_is_an_error_that_lists_the_known_ones;
            registry "13.3" s13_3_the_explicit_name_beats_the_config_and_that_the_environment;
            registry "13.4" s13_4_an_unknown_name_is_never_skipped;
            registry "13.5" s13_5_registering_a_name_again_replaces_it;
            registry "13.6" s13_6_what_is_on_disk_decides_when_nothing_is_named read;
            registry "13.7" s13_7_a_name_beats_what_is_on_disk read;
            registry "13.8" s13_8_the_default_serves_when_nothing_else_decides;
            registry "13.9" s13_9_a_url_is_served_by_the_backend_of_its_scheme_unless_one_is_named;
            registry "13.10" s13_10_a_url_of_an_unknown_scheme_is_an_error_that_shows_no_password;
            limits "14.1" s14_1_a_call_takes_at_most_so_many_records;
            limits "14.2" s14_2_an_id_is_neither_empty_nor_too_long_nor_holds_nul;
            limits "14.3" s14_3_a_text_has_at_most_so_many_bytes;
            limits "14.4" s14_4_the_texts_of_a_call_have_at_most_so_many_bytes;
            limits "14.5" s14_5_a_key_is_not_empty_too_long_or_reserved;
            limits "14.6" s14_6_values_are_finite_and_lists_flat_and_of_one_type;
            limits "14.7" s14_7_metadata_has_at_most_so_many_bytes_also_when_merged;
            limits "14.8" s14_8_a_vector_is_not_empty_too_long_or_non_finite;
            limits "14.9" s14_9_the_vectors_of_a_call_have_one_length;
            limits "14.10" s14_10_a_vector_of_another_dimension_is_refused_before_anything_is_written;
            limits "14.11" s14_11_a_collection_name_has_at_most_512_bytes;
            limits "14.12" s14_12_the_vectors_of_a_call_have_at_most_so_many_bytes;
            upkeep "15.1" s15_1_an_open_collection_is_healthy read;
            upkeep "15.2" s15_2_a_closed_or_deleted_collection_is_unhealthy_not_an_error read;
            upkeep "15.3" s15_3_the_maintenance_state_names_the_last_number_and_counts_vectors;
            upkeep "15.4" s15_4_an_index_never_claims_more_than_there_is;
            upkeep "15.5" s15_5_maintenance_answers_with_its_kind;
            upkeep "15.6" s15_6_maintenance_changes_no_answer;
            upkeep "15.7" s15_7_after_maintenance_the_feed_lists_a_delete_or_says_reset;
            recall "16.1" s16_1_words_and_vectors_find_under_one_selection read;
            recall "16.2" s16_2_neighbours_in_the_source_come_along_in_order read;
            recall "16.3" s16_3_what_the_selection_excludes_is_never_admitted read;
            recall "16.4" s16_4_the_choice_comes_back_in_its_order_with_everything read;
            recall "16.5" s16_5_a_question_embedded_for_others_vectors_is_refused read;
            recall "16.6" s16_6_noting_an_access_changes_no_drawer read;
            view "16.7" s16_7_a_view_answers_as_of_one_commit read;
            view "16.8" s16_8_postings_count_how_often_each_drawer_holds_a_term read;
            view "16.9" s16_9_a_common_term_is_not_listed_and_has_newest_drawers read;
            view "16.10" s16_10_the_passages_of_a_source_come_in_order_and_within_limits read;
            view "16.11" s16_11_a_record_that_is_not_there_is_answered_with_nothing read;
            view "16.12" s16_12_the_error_of_the_work_is_the_error_of_the_call read;
            view "16.13" s16_13_facets_of_a_view_are_counted_over_its_selection read;
            recall "16.14" s16_14_a_noted_access_counts_once_the_palace_was_let_go;
            view "16.15" s16_15_how_rare_a_term_is_counts_over_the_whole_palace read;
            view "16.16" s16_16_a_record_of_another_collection_is_never_found_here read;
            view "16.17" s16_17_a_view_counts_outside_of_its_selection read;
            relations "17.1" s17_1_a_fact_comes_back_with_everything_it_was_given;
            relations "17.2" s17_2_a_fact_without_an_id_is_kept_under_its_key;
            relations "17.3" s17_3_adding_a_fact_twice_adds_it_once_and_keeps_the_first;
            relations "17.4" s17_4_facts_come_in_the_order_added;
            relations "17.5" s17_5_facts_are_found_by_each_of_their_names_and_all_given_must_hold;
            relations "17.6" s17_6_limit_and_offset_cut_what_is_found;
            relations "17.7" s17_7_a_link_comes_back_with_everything_it_was_given;
            relations "17.8" s17_8_there_is_one_link_per_pair_of_ends_and_label;
            relations "17.9" s17_9_links_are_found_from_both_ends_in_the_order_added;
            relations "17.10" s17_10_what_facts_and_links_name_need_not_exist;
            relations "17.11" s17_11_a_call_with_a_refused_part_writes_nothing;
            relations "17.12" s17_12_what_stands_at_a_limit_is_accepted_and_beyond_it_refused;
            relations "17.13" s17_13_links_go_with_their_drawer_and_facts_stay;
            relations "17.14" s17_14_a_deleted_collection_takes_its_links_along;
            relations "17.15" s17_15_new_facts_and_links_draw_numbers_and_known_ones_none;
            relations "17.16" s17_16_facts_of_several_threads_are_added_once_each;
            relations "17.17" s17_17_palaces_never_see_each_others_facts_and_links;
            relations "17.18" s17_18_a_missing_palace_has_no_relations_and_a_closed_one_answers_so;
            relations "17.19" s17_19_instances_see_each_others_facts_and_links;
            relations "17.20" s17_20_facts_and_links_survive_the_instance;
            relations "17.21" s17_21_ending_a_fact_writes_its_end_and_nothing_else;
            relations "17.22" s17_22_what_has_ended_or_begins_later_or_is_missing_is_not_ended;
            relations "17.23" s17_23_an_end_that_is_no_date_is_refused;
            relations "17.24" s17_24_superseding_ends_and_adds_in_one;
            relations "17.25" s17_25_a_fact_that_has_ended_does_not_take_anothers_place;
            relations "17.26" s17_26_of_several_threads_that_supersede_a_fact_one_wins;
            relations "17.27" s17_27_names_are_found_whatever_their_case_if_that_is_asked;
            relations "17.28" s17_28_nothing_of_a_supersession_counts_as_added_twice;
            relations "17.29" s17_29_links_are_removed_by_ends_and_label;
            relations "17.30" s17_30_drawers_come_with_their_facts_and_links_or_not_at_all;
            relations "17.31" s17_31_what_names_a_duplicate_names_the_drawer_that_is_there;
            relations "17.32" s17_32_a_fact_without_an_id_that_differs_only_in_case_is_known;
            projects "18.1" s18_1_looking_up_a_wing_records_nothing;
            projects "18.2" s18_2_a_claim_records_the_project_once;
            projects "18.3" s18_3_another_project_of_the_name_gets_a_wing_of_its_own;
            projects "18.4" s18_4_folders_with_one_remote_are_one_project;
            projects "18.5" s18_5_forks_are_two_projects;
            projects "18.6" s18_6_a_folder_is_the_recorded_project_unless_that_is_contradicted;
            projects "18.7" s18_7_without_remotes_one_first_commit_is_one_project;
            projects "18.8" s18_8_a_wing_with_mined_drawers_is_for_the_folder_they_are_of;
            projects "18.9" s18_9_a_project_inside_another_keeps_its_drawers_to_itself;
            projects "18.10" s18_10_a_folder_that_is_gone_is_the_repository_recorded_above_it;
            projects "18.11" s18_11_claims_of_several_threads_never_share_a_wing;
            projects "18.12" s18_12_projects_that_share_a_wing_can_leave_it;
            projects "18.13" s18_13_moving_a_group_changes_the_wing_and_nothing_else;
            projects "18.14" s18_14_records_of_another_palace_keep_their_wings_unless_known;
            projects "18.15" s18_15_collections_keep_their_projects_apart;
            projects "18.16" s18_16_projects_survive_the_instance_and_are_seen_by_others;
            projects "18.17" s18_17_projects_of_an_import_get_wings_that_no_other_project_has;
            ledger "19.1" s19_1_filing_adds_keeps_updates_and_removes_drawers;
            ledger "19.2" s19_2_filing_on_an_old_revision_writes_nothing;
            ledger "19.3" s19_3_what_grows_keeps_its_drawer_under_another_text;
            ledger "19.4" s19_4_drawers_move_only_if_the_change_moves_them;
            ledger "19.5" s19_5_drawers_lose_dropped_keys_and_keep_those_of_others;
            ledger "19.6" s19_6_text_that_moves_to_another_section_keeps_its_drawer;
            ledger "19.7" s19_7_a_removed_source_takes_its_drawers_and_its_row;
            ledger "19.8" s19_8_a_change_without_pieces_leaves_the_drawers;
            ledger "19.9" s19_9_filed_texts_are_found_by_words_and_vectors;
            ledger "19.10" s19_10_a_text_that_somebody_changed_is_no_longer_the_sources;
            ledger "19.11" s19_11_sources_are_found_by_name_folder_and_hash;
            ledger "19.12" s19_12_touch_writes_figures_unless_the_source_was_filed_since;
            ledger "19.13" s19_13_a_renamed_source_keeps_its_drawers;
            ledger "19.14" s19_14_a_source_belongs_to_the_machine_that_filed_it;
            ledger "19.15" s19_15_a_text_of_two_machines_is_one_drawer_of_the_first;
            ledger "19.16" s19_16_a_source_of_no_known_machine_is_everybodys_until_it_is_filed;
            ledger "19.17" s19_17_sources_are_listed_in_pages_with_sections_before_heads;
            ledger "19.18" s19_18_adopted_sources_are_whole_only_with_all_their_drawers;
            ledger "19.19" s19_19_runs_are_numbered_and_listed_newest_first;
            ledger "19.20" s19_20_only_a_run_that_is_under_way_files;
            ledger "19.21" s19_21_undo_restores_what_a_run_added_changed_and_removed;
            ledger "19.22" s19_22_undo_leaves_what_somebody_changed_or_deleted_since;
            ledger "19.23" s19_23_undo_refuses_unknown_undone_and_overtaken_runs;
            ledger "19.24" s19_24_undo_of_a_rename_gives_the_old_name_back;
            ledger "19.25" s19_25_a_forgotten_text_is_not_filed_again;
            ledger "19.26" s19_26_forgotten_lines_are_found_in_any_text;
            ledger "19.27" s19_27_a_text_that_is_allowed_again_comes_back;
            ledger "19.28" s19_28_an_undo_does_not_bring_a_forgotten_text_back;
            ledger "19.29" s19_29_forgetting_makes_a_filing_that_is_under_way_stale;
            maintenance "20.1" s20_1_a_palace_is_made_once;
            maintenance "20.2" s20_2_a_call_without_its_capability_is_unsupported;
            maintenance "20.3" s20_3_the_state_counts_facts_links_and_changes;
            maintenance "20.4" s20_4_forget_removes_drawers_with_their_facts_and_links;
            maintenance "20.5" s20_5_a_healthy_palace_verifies_and_a_repair_changes_nothing;
            maintenance "20.6" s20_6_a_backup_restores_what_it_was_made_of;
            maintenance "20.7" s20_7_old_vectors_serve_until_all_new_ones_exist;
            maintenance "20.8" s20_8_a_trial_write_leaves_no_trace;
            maintenance "20.9" s20_9_a_palace_that_was_closed_opens_with_its_ledger;
            maintenance "20.10" s20_10_a_backup_is_checked_without_being_restored;
            maintenance "20.11" s20_11_several_collections_are_forgotten_in_one_call;
        }
    };
}
