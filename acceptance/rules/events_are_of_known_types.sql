-- The rules account for every event that there is. Who adds a type extends them.
select type, count(*)
from events
where type not in (
    'PurchaseConfirmed', 'PurchaseRejected', 'PurchaseRequested',
    'SaleClosed', 'SalePaused', 'SaleRescheduled', 'SaleResumed', 'SaleScheduled',
    'StockAdded', 'StockRemoved'
)
group by type
