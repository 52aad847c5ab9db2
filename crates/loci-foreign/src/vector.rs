//! Decodes vectors as other programs store them: consecutive little-endian f32.

/// Reads a vector. Refuses values that no index can hold, with a phrase that says why.
pub(crate) fn read(bytes: &[u8], dimension: Option<usize>) -> Result<Vec<f32>, String> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() || numbers.is_empty() {
        return Err(format!("has {} bytes", bytes.len()));
    }
    if let Some(dimension) = dimension
        && numbers.len() != dimension
    {
        let length = numbers.len();
        return Err(format!("has {length} numbers, the others have {dimension}"));
    }
    let vector: Vec<f32> = numbers
        .iter()
        .map(|number| f32::from_le_bytes(*number))
        .collect();
    if vector.iter().any(|number| !number.is_finite()) {
        return Err("holds a number that is not finite".into());
    }
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_vector_must_be_whole_and_finite() {
        assert_eq!(read(&1.5_f32.to_le_bytes(), Some(1)), Ok(vec![1.5]));
        assert!(read(&1.5_f32.to_le_bytes(), Some(2)).is_err());
        assert!(read(&[], None).is_err());
        assert!(read(&[0; 7], None).is_err());
        assert!(read(&f32::NAN.to_le_bytes(), None).is_err());
    }
}
