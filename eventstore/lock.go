package eventstore

// PurchaseLockClass is the class of the advisory locks of purchases. Who appends to a
// purchase that has its order holds its lock; so who holds it finds the stream, and
// what inline projections made of it, at rest.
const PurchaseLockClass = 0x0DE2
