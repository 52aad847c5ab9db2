use proptest::prelude::*;

use super::*;

/// Written by ChromaDB 1.5.9.
const MODERN: &[u8] = b"\x80\x03}(X\x0e\x00\x00\x00dimensionalityNX\x14\x00\x00\x00total_elements_addedJ\x05\x00\x00\x00X\x0a\x00\x00\
      \x00max_seq_idNX\x0b\x00\x00\x00id_to_label}(X\x01\x00\x00\x00dJ\x04\x00\x00\x00X\x03\x00\x00\x00b\xc3\xa9J\
      \x02\x00\x00\x00X\x01\x00\x00\x00eJ\x05\x00\x00\x00X\x01\x00\x00\x00cJ\x03\x00\x00\x00uX\x0b\x00\x00\x00label_\
      to_id}(J\x03\x00\x00\x00X\x01\x00\x00\x00cJ\x04\x00\x00\x00X\x01\x00\x00\x00dJ\x02\x00\x00\x00X\x03\x00\x00\
      \x00b\xc3\xa9J\x05\x00\x00\x00X\x01\x00\x00\x00euX\x0c\x00\x00\x00id_to_seq_id}u.";

/// Written by ChromaDB 0.6.3.
const LEGACY: &[u8] = b"\x80\x05\x95\xed\x00\x00\x00\x00\x00\x00\x00\x8c2chromadb.segment.impl.vector.local_persistent_hnsw\x94\x8c\
      \x0ePersistentData\x94\x93\x94)\x81\x94}\x94(\x8c\x0edimensionality\x94K\x18\x8c\x14total_elements_added\x94K\
      \x03\x8c\x0bid_to_label\x94}\x94(\x8c\x06id-2\xc3\xa9\x94K\x01\x8c\x06id-1\xc3\xa9\x94K\x02\x8c\x06id-0\xc3\
      \xa9\x94K\x03u\x8c\x0blabel_to_id\x94}\x94(K\x01h\x09K\x02h\x0aK\x03h\x0bu\x8c\x0cid_to_seq_id\x94}\x94(h\x09K\
      \x03h\x0aK\x02h\x0bK\x01uub.";

/// One label map, written by Python with each protocol.
const PROTOCOLS: [&[u8]; 6] = [
    b"(dp0\x0aVtotal_elements_added\x0ap1\x0aI70000\x0asVmax_seq_id\x0ap2\x0aL9223372036854775808L\x0asVid_to_label\x0ap3\x0a(dp4\x0aVa\xe9\x5cu20ac\x5cu005c\x0ap5\x0aI1\x0asVb\x0ap6\x0aI2\x0asVc\x0ap7\x0aI300\x0assVlabel_to_id\x0ap8\x0a(dp9\x0aI1\x0ag5\x0asI2\x0ag6\x0asI300\x0ag7\x0assVx\x0ap10\x0a(lp11\x0aF1.5\x0aac_codecs\x0aencode\x0ap12\x0a(Vq\x0ap13\x0aVlatin1\x0ap14\x0atp15\x0aRp16\x0aa(I1\x0aI2\x0aI3\x0aI4\x0atp17\x0aaI01\x0aaI-1\x0aaNas.",
    b"}q\x00(X\x14\x00\x00\x00total_elements_addedq\x01Jp\x11\x01\x00X\x0a\x00\x00\x00max_seq_idq\x02L9223372036854775808L\x0aX\x0b\x00\x00\x00id_to_labelq\x03}q\x04(X\x07\x00\x00\x00a\xc3\xa9\xe2\x82\xac\x5cq\x05K\x01X\x01\x00\x00\x00bq\x06K\x02X\x01\x00\x00\x00cq\x07M,\x01uX\x0b\x00\x00\x00label_to_idq\x08}q\x09(K\x01h\x05K\x02h\x06M,\x01h\x07uX\x01\x00\x00\x00xq\x0a]q\x0b(G?\xf8\x00\x00\x00\x00\x00\x00c_codecs\x0aencode\x0aq\x0c(X\x01\x00\x00\x00qq\x0dX\x06\x00\x00\x00latin1q\x0etq\x0fRq\x10(K\x01K\x02K\x03K\x04tq\x11I01\x0aJ\xff\xff\xff\xffNeu.",
    b"\x80\x02}q\x00(X\x14\x00\x00\x00total_elements_addedq\x01Jp\x11\x01\x00X\x0a\x00\x00\x00max_seq_idq\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00X\x0b\x00\x00\x00id_to_labelq\x03}q\x04(X\x07\x00\x00\x00a\xc3\xa9\xe2\x82\xac\x5cq\x05K\x01X\x01\x00\x00\x00bq\x06K\x02X\x01\x00\x00\x00cq\x07M,\x01uX\x0b\x00\x00\x00label_to_idq\x08}q\x09(K\x01h\x05K\x02h\x06M,\x01h\x07uX\x01\x00\x00\x00xq\x0a]q\x0b(G?\xf8\x00\x00\x00\x00\x00\x00c_codecs\x0aencode\x0aq\x0cX\x01\x00\x00\x00qq\x0dX\x06\x00\x00\x00latin1q\x0e\x86q\x0fRq\x10(K\x01K\x02K\x03K\x04tq\x11\x88J\xff\xff\xff\xffNeu.",
    b"\x80\x03}q\x00(X\x14\x00\x00\x00total_elements_addedq\x01Jp\x11\x01\x00X\x0a\x00\x00\x00max_seq_idq\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00X\x0b\x00\x00\x00id_to_labelq\x03}q\x04(X\x07\x00\x00\x00a\xc3\xa9\xe2\x82\xac\x5cq\x05K\x01X\x01\x00\x00\x00bq\x06K\x02X\x01\x00\x00\x00cq\x07M,\x01uX\x0b\x00\x00\x00label_to_idq\x08}q\x09(K\x01h\x05K\x02h\x06M,\x01h\x07uX\x01\x00\x00\x00xq\x0a]q\x0b(G?\xf8\x00\x00\x00\x00\x00\x00C\x01qq\x0c(K\x01K\x02K\x03K\x04tq\x0d\x88J\xff\xff\xff\xffNeu.",
    b"\x80\x04\x95\xaa\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x14total_elements_added\x94Jp\x11\x01\x00\x8c\x0amax_seq_id\x94\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00\x8c\x0bid_to_label\x94}\x94(\x8c\x07a\xc3\xa9\xe2\x82\xac\x5c\x94K\x01\x8c\x01b\x94K\x02\x8c\x01c\x94M,\x01u\x8c\x0blabel_to_id\x94}\x94(K\x01h\x05K\x02h\x06M,\x01h\x07u\x8c\x01x\x94]\x94(G?\xf8\x00\x00\x00\x00\x00\x00C\x01q\x94(K\x01K\x02K\x03K\x04t\x94\x88J\xff\xff\xff\xffNeu.",
    b"\x80\x05\x95\xaa\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x14total_elements_added\x94Jp\x11\x01\x00\x8c\x0amax_seq_id\x94\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00\x8c\x0bid_to_label\x94}\x94(\x8c\x07a\xc3\xa9\xe2\x82\xac\x5c\x94K\x01\x8c\x01b\x94K\x02\x8c\x01c\x94M,\x01u\x8c\x0blabel_to_id\x94}\x94(K\x01h\x05K\x02h\x06M,\x01h\x07u\x8c\x01x\x94]\x94(G?\xf8\x00\x00\x00\x00\x00\x00C\x01q\x94(K\x01K\x02K\x03K\x04t\x94\x88J\xff\xff\xff\xffNeu.",
];

fn pairs(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected
        .iter()
        .map(|(id, label)| ((*id).to_owned(), *label))
        .collect()
}

/// A dictionary with the two maps, as 1.x writes it.
fn written(by_id: &[(&str, u32)], by_label: &[(u32, &str)]) -> Vec<u8> {
    let text = |text: &str| {
        let mut bytes = vec![b'X'];
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes
    };
    let number = |number: u32| [&b"J"[..], &number.to_le_bytes()].concat();
    let mut bytes = b"\x80\x03}(".to_vec();
    bytes.extend(text("id_to_label"));
    bytes.extend(b"}(");
    for (id, label) in by_id {
        bytes.extend(text(id));
        bytes.extend(number(*label));
    }
    bytes.push(b'u');
    bytes.extend(text("label_to_id"));
    bytes.extend(b"}(");
    for (label, id) in by_label {
        bytes.extend(number(*label));
        bytes.extend(text(id));
    }
    bytes.extend(b"uu.");
    bytes
}

#[test]
fn a_dictionary_of_1_5_9_is_read_whole() {
    let map = read(MODERN);
    assert_eq!(map.damage, None);
    assert_eq!(map.form, Some(Form::Dict));
    assert_eq!(map.pairs, pairs(&[("bé", 2), ("c", 3), ("d", 4), ("e", 5)]));
    assert_eq!(map.disputed, 0);
    assert_eq!(map.total_elements_added, Some(5));
    assert_eq!((map.max_seq_id, map.dimensionality), (None, None));
}

#[test]
fn an_instance_of_0_6_3_is_read_whole() {
    let map = read(LEGACY);
    assert_eq!(map.damage, None);
    assert_eq!(map.form, Some(Form::Instance));
    assert_eq!(
        map.pairs,
        pairs(&[("id-2é", 1), ("id-1é", 2), ("id-0é", 3)])
    );
    assert_eq!(map.dimensionality, Some(24));
    assert_eq!(map.total_elements_added, Some(3));
}

#[test]
fn every_protocol_says_the_same() {
    for (protocol, bytes) in PROTOCOLS.iter().enumerate() {
        let map = read(bytes);
        assert_eq!(map.damage, None, "protocol {protocol}");
        assert_eq!(
            map.pairs,
            pairs(&[("aé€\\", 1), ("b", 2), ("c", 300)]),
            "protocol {protocol}"
        );
        assert_eq!(map.disputed, 0);
        assert_eq!(map.total_elements_added, Some(70000));
        assert_eq!(map.max_seq_id, Some(1 << 63));
    }
}

#[test]
fn an_instance_in_protocol_0_is_read_by_its_state() {
    let bytes = b"ccopy_reg\n_reconstructor\np0\n(cmodule\nPersistentData\np1\nc__builtin__\nobject\np2\nNtp3\nRp4\n\
        (dp5\nVid_to_label\np6\n(dp7\nVa\np8\nI7\nssb.";
    let map = read(bytes);
    assert_eq!(map.damage, None);
    assert_eq!(map.form, Some(Form::Instance));
    assert_eq!(map.pairs, pairs(&[("a", 7)]));
}

#[test]
fn what_stands_before_the_cut_is_kept_and_the_cut_is_named() {
    for whole in [MODERN, LEGACY]
        .into_iter()
        .chain(PROTOCOLS.iter().copied())
    {
        let complete = read(whole).pairs;
        let mut before = 0;
        for length in 0..whole.len() {
            let cut = read(whole.get(..length).unwrap());
            let damage = cut.damage.expect("a cut file is damaged");
            assert!(damage.starts_with("at byte "), "{damage}");
            assert!(cut.pairs.iter().all(|pair| complete.contains(pair)));
            assert!(cut.pairs.len() >= before, "a longer file has more pairs");
            assert_eq!(cut.disputed, 0);
            before = cut.pairs.len();
        }
        assert_eq!(before, complete.len());
    }
}

#[test]
fn an_open_map_of_protocol_0_counts() {
    let map = read(b"(dp0\nVid_to_label\np1\n(dp2\nVa\np3\nI1\nsVb\np4\nI2");
    assert_eq!(map.pairs, pairs(&[("a", 1)]));
    assert!(map.damage.is_some());
}

#[test]
fn the_result_counts_and_not_what_was_thrown_away() {
    let map = |id: &str| format!("}}X\x0b\0\0\0id_to_label}}X\x01\0\0\0{id}K\x01ss");
    let bytes = format!("{}0cmodule\nName\n)R{}b.", map("x"), map("a"));
    let read = read(bytes.as_bytes());
    assert_eq!(read.pairs, pairs(&[("a", 1)]));
    assert_eq!((read.form, read.damage), (Some(Form::Instance), None));
}

#[test]
fn half_an_entry_does_not_count() {
    let bytes = written(&[("a", 1), ("b", 2)], &[]);
    let place = bytes.windows(2).position(|window| window == b"bJ").unwrap();
    let cut = read(bytes.get(..place + 4).unwrap());
    assert_eq!(cut.pairs, pairs(&[("a", 1)]));
    assert_eq!(
        cut.damage.unwrap(),
        format!("at byte {}: the file ends here", place + 1)
    );
}

#[test]
fn an_entry_in_one_map_alone_counts() {
    let map = read(&written(&[("a", 1)], &[(2, "b")]));
    assert_eq!(map.pairs, pairs(&[("a", 1), ("b", 2)]));
    assert_eq!(map.disputed, 0);
}

#[test]
fn maps_that_contradict_each_other_lose_the_disputed_entries_only() {
    let map = read(&written(
        &[("a", 1), ("b", 2), ("c", 3)],
        &[(1, "a"), (2, "x"), (9, "c")],
    ));
    assert_eq!(map.pairs, pairs(&[("a", 1)]));
    assert_eq!(map.disputed, 4);
}

#[test]
fn an_id_or_a_label_twice_in_one_map_is_disputed() {
    let map = read(&written(
        &[("a", 1), ("a", 2), ("b", 3), ("c", 3), ("d", 4)],
        &[],
    ));
    assert_eq!(map.pairs, pairs(&[("d", 4)]));
    assert_eq!(map.disputed, 4);
}

#[test]
fn an_id_may_be_called_like_a_field() {
    let map = read(&written(
        &[("max_seq_id", 1), ("id_to_label", 2), ("dimensionality", 3)],
        &[],
    ));
    assert_eq!(map.pairs.len(), 3);
    assert_eq!((map.max_seq_id, map.dimensionality), (None, None));
    assert_eq!(map.damage, None);
}

#[test]
fn a_file_without_label_maps_is_damaged() {
    for bytes in [&b""[..], b"N.", b"}.", b"\x80\x03}X\x01\0\0\0aK\x01s."] {
        let map = read(bytes);
        assert!(map.damage.is_some(), "{bytes:?}");
        assert!(map.pairs.is_empty());
    }
}

#[test]
fn an_unknown_protocol_and_a_long_frame_are_told_and_read() {
    let mut newer = MODERN.to_vec();
    *newer.get_mut(1).unwrap() = 6;
    let map = read(&newer);
    assert_eq!(map.pairs.len(), 4);
    assert!(map.damage.unwrap().contains("protocol"));
    let mut longer = LEGACY.to_vec();
    *longer.get_mut(4).unwrap() = 1;
    let map = read(&longer);
    assert_eq!(map.pairs.len(), 3);
    assert!(map.damage.unwrap().contains("frame"));
}

#[test]
fn negative_and_huge_numbers_are_no_labels() {
    let map = read(b"}X\x0b\0\0\0id_to_label}(X\x01\0\0\0aJ\xff\xff\xff\xffX\x01\0\0\0b\x8a\x09\0\0\0\0\0\0\0\0\x01X\x01\0\0\0cI01\nus.");
    assert_eq!(map.pairs, pairs(&[]));
    assert_eq!(map.damage, None);
}

#[test]
fn bombs_cost_no_more_than_their_length() {
    let nested = [vec![b'('; 1_000_000], vec![b'd'; 1_000_000]].concat();
    assert!(read(&nested).damage.is_some());
    let tuples = [&b"N"[..], &vec![0x85; 1_000_000], b"."].concat();
    assert!(read(&tuples).damage.is_some());
    let memo = b"}r\xff\xff\xff\xff.";
    assert!(read(memo).damage.unwrap().contains("memo"));
    let text = b"}\x8d\xff\xff\xff\xff\xff\xff\xff\xff.";
    assert!(read(text).damage.unwrap().contains("ends"));
    // Each dictionary contains the previous one twice.
    let doubling = b"}(K\x01h\x00K\x02h\x00uq\x00".repeat(3000);
    let map = read(&[b"}q\x00", doubling.as_slice(), b"."].concat());
    assert!(map.damage.unwrap().contains("dictionaries"));
    // A dictionary that contains itself.
    assert!(read(b"}q\x00K\x01h\x00s.").damage.is_some());
}

#[test]
fn an_item_is_not_taken_from_beneath_a_mark() {
    for bytes in [
        &b"}K\x01(K\x02s"[..],
        b"}K\x01(K\x02sd",
        b"K\x01((0s1d",
        b"}((((uuu",
        b"(0d1eat",
    ] {
        assert!(read(bytes).damage.is_some(), "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read(&bytes);
    }

    #[test]
    fn any_program_can_be_read(
        codes in proptest::collection::vec(
            proptest::sample::select(b"(.012abdegehjlopqrstu)]}NKMJIVX\x81\x85\x86\x87\x8a\x8c\x90\x92\x93\x94\x00\x01\n".to_vec()), 0..200)
    ) {
        read(&codes);
    }

    #[test]
    fn flipped_bytes_do_no_harm(
        which in 0..8_usize,
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
    ) {
        let mut bytes = [MODERN, LEGACY].into_iter().chain(PROTOCOLS).nth(which).unwrap().to_vec();
        for (place, value) in flips {
            let place = place.index(bytes.len());
            *bytes.get_mut(place).unwrap() ^= value;
        }
        let map = read(&bytes);
        prop_assert!(map.pairs.is_sorted_by(|left, right| left.1 < right.1));
    }
}
