-- The rules account for every event that there is. Who adds a type extends them.
select type, count(*)
from events
where type not in (
        'OrderCancelled',
        'OrderExpired',
        'OrderPaid',
        'OrderRefunded',
        'PurchaseConfirmed',
        'PurchaseRejected',
        'PurchaseRequested',
        'PurchasesTurnedAway',
        'SaleClosed',
        'SalePaused',
        'SaleRescheduled',
        'SaleResumed',
        'SaleScheduled',
        'StockAdded',
        'StockRemoved'
    )
group by type
