//! The face of a cube that a direction meets, and where (CUDA C++ Programming Guide, "Cubemap
//! Textures").

/// The face that a direction meets.
pub(crate) fn face_of([x, y, z]: [f32; 3]) -> u32 {
    let (across, up, along) = (x.abs(), y.abs(), z.abs());
    let (axis, component) = if along >= across && along >= up {
        (2, z)
    } else if up >= across {
        (1, y)
    } else {
        (0, x)
    };
    2 * axis + u32::from(component.is_sign_negative())
}

/// Where a direction meets the plane of `face` (+x, -x, +y, -y, +z, -z from 0): across and down, each from
/// 0 to 1.
pub(crate) fn on_face(face: u32, [x, y, z]: [f32; 3]) -> [f64; 2] {
    let (s, t, m) = match face {
        0 => (-z, -y, x),
        1 => (z, -y, x),
        2 => (x, z, y),
        3 => (x, -z, y),
        4 => (x, -y, z),
        _ => (-x, -y, z),
    };
    let m = f64::from(m.abs());
    // A direction without length meets the middle.
    let place = |c: f32| {
        let ratio = f64::from(c) / m;
        if ratio.is_nan() {
            0.5
        } else {
            (ratio + 1.0) / 2.0
        }
    };
    [place(s), place(t)]
}
