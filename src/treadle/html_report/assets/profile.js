// The profile, where the page has one.
const costOf = () => [];
const profileTable = () => null;
